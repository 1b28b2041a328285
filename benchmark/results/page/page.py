"""``report.html``: leaderboards, charts, galleries and all tables, in one file that loads nothing."""

from collections.abc import Iterable, Sequence

from benchmark.results.page.estimates import LEGEND
from benchmark.results.page.galleries import Images, thumbnails
from benchmark.results.page.html_page import render
from benchmark.results.page.leaderboard_view import leaderboard_views
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
    views = leaderboard_views(results, folders)
    panels = [panel for view in views for panel in view.panels]
    images = Images(thumbnails(panels, [captioned for view in views for captioned in view.captioned]))
    families = {result.family for result in results if result.family}
    charts = [chart for v in views for chart in (*v.charts, *(p.scores for p in v.panels if p.scores))]
    return render(
        "page.html",
        charts,
        views=views,
        first=max(views, key=lambda view: len(view.panels), default=None),  # shown first
        images=images,
        tables=tables,
        legend=[LEGEND, RANKS],
        min_seeds=MIN_SEEDS,
        families=[name for name in FAMILIES if name in families] + sorted(families - set(FAMILIES)),
        metric_sets=list(dict.fromkeys(table.name for view in views for table in view.tables)),
        provenance=_provenance(results),
    )


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
