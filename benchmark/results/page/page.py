"""``report.html``: leaderboards, charts, galleries and all tables, in one file that loads nothing."""

import base64
import hashlib
from collections.abc import Iterable, Sequence
from importlib.resources import files

from jinja2 import Environment, PackageLoader, StrictUndefined

from benchmark.core.visible import visible
from benchmark.results.page.estimates import LEGEND
from benchmark.results.page.galleries import Images, thumbnails
from benchmark.results.page.leaderboard_view import BoardView, board_views
from benchmark.results.page.plotly_charts import Json
from benchmark.results.report.certainty import RANKS, RunFolders
from benchmark.results.report.leaderboard import FAMILIES
from benchmark.results.report.significance import MIN_SEEDS
from benchmark.results.report.table import Table
from benchmark.results.result import Result


def leaderboard_page(results: Sequence[Result], folders: RunFolders, tables: Sequence[Table]) -> str:
    """Return the whole page.

    Args:
        results: of all runs.
        folders: their folders; what is missing there is said on the page.
        tables: all tables of the report.
    """
    from plotly.offline import get_plotlyjs

    views = board_views(results, folders)
    panels = [panel for view in views for panel in view.panels]
    images = Images(thumbnails(panels, [captioned for view in views for captioned in view.captioned]))
    plotly, script, style = get_plotlyjs(), _static("page.js"), _static("page.css")
    families = {result.family for result in results if result.family}
    return (
        _environment()
        .get_template("page.html")
        .render(
            views=views,
            first=max(views, key=lambda view: len(view.panels), default=None),  # what is shown first
            charts=_pictures(views),
            images=images,
            tables=tables,
            legend=[LEGEND, RANKS],
            min_seeds=MIN_SEEDS,
            families=[name for name in FAMILIES if name in families] + sorted(families - set(FAMILIES)),
            metric_sets=list(dict.fromkeys(table.name for view in views for table in view.tables)),
            provenance=_provenance(results),
            plotly=plotly,
            script=script,
            style=style,
            policy=_policy([plotly, script]),
        )
    )


def _environment() -> Environment:
    environment = Environment(
        loader=PackageLoader("benchmark.results.page"),
        autoescape=True,
        undefined=StrictUndefined,
        finalize=_shown,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.policies["json.dumps_kwargs"] = {"allow_nan": False, "separators": (",", ":")}
    return environment


def _shown(value: object) -> object:
    """Return what stands in the place of an expression; HTML that we made is a subclass of text and stays."""
    return visible(value) if type(value) is str else value


def _static(name: str) -> str:
    return (files("benchmark.results.page") / "static" / name).read_text(encoding="utf-8")


def _policy(scripts: Iterable[str]) -> str:
    """Return a Content-Security-Policy: no network at all, no scripts but these."""
    digests = (base64.b64encode(hashlib.sha256(script.encode()).digest()).decode() for script in scripts)
    allowed = " ".join(f"'sha256-{digest}'" for digest in digests)
    return (
        f"default-src 'none'; script-src {allowed}; style-src 'unsafe-inline'; img-src data: blob:;"
        " base-uri 'none'; form-action 'none'"
    )


def _pictures(views: Iterable[BoardView]) -> dict[str, list[Json]]:
    """Return the variants of all charts by their keys; leaderboards of one setting share the chart of sizes."""
    charts = [
        chart for view in views for chart in (*view.charts, *(p.scores for p in view.panels if p.scores))
    ]
    return {chart.key: [{"data": v.data, "layout": v.layout} for v in chart.variants] for chart in charts}


def _provenance(results: Sequence[Result]) -> dict[str, str]:
    """Return the commits, machines, seeds and versions of the results; several values where they differ."""
    if not results:
        return {}
    libraries = sorted({name for result in results for name in result.versions})
    facts = {
        "runs": [str(len(results))],
        "finished": [min(r.finished for r in results), max(r.finished for r in results)],
        "commit": [result.git_commit or "unknown" for result in results],
        "machine": [result.machine for result in results],
        "seeds": [str(seed) for seed in sorted({result.seed for result in results})],
        "versions": [", ".join(f"{name} {_versions(results, name)}" for name in libraries)],
    }
    return {name: " · ".join(dict.fromkeys(values)) for name, values in facts.items()}


def _versions(results: Iterable[Result], library: str) -> str:
    return " / ".join(sorted({r.versions[library] for r in results if library in r.versions}))
