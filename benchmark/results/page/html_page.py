"""Pages of HTML in one file that loads nothing, light or dark as the system; text is escaped, `Markup` is not."""

import base64
import hashlib
from collections.abc import Iterable, Sequence
from functools import cache
from importlib.resources import files
from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined

from benchmark.core.errors import UserError
from benchmark.core.extras import packages_command
from benchmark.core.paths import CHECKOUT
from benchmark.core.sanitize import visible
from benchmark.results.page.charts import Chart
from benchmark.results.report.table import Table


def render(template: str, charts: Iterable[Chart], script_file: str = "page.js", **values: Any) -> str:
    """Return a page from a template, by default with the script that sorts its tables and draws its charts."""
    # Leaderboards of one setting share the chart of sizes.
    pictures = {chart.key: list(map(vars, chart.variants)) for chart in charts}
    plotly = _static("plotly.min.js") if pictures else ""
    script, style = _static(script_file), _static("page.css")
    # A Content-Security-Policy: no network at all, no scripts but these.
    digests = (base64.b64encode(hashlib.sha256(text.encode()).digest()).decode() for text in (plotly, script))
    allowed = " ".join(f"'sha256-{digest}'" for digest in digests)
    policy = (
        f"default-src 'none'; script-src {allowed}; style-src 'unsafe-inline'; img-src data: blob:;"
        " base-uri 'none'; form-action 'none'"
    )
    return (
        _environment()
        .get_template(template)
        .render(charts=pictures, plotly=plotly, script=script, base_style=style, policy=policy, **values)
    )


def plain_page(title: str, body: Iterable[str], style: str = "", charts: Sequence[Chart] = ()) -> str:
    """Return a page with a title; `body` is HTML that has a place for each of the `charts`."""
    return render("plain.html", charts, title=title, body=body, style=style)


def chart_html(chart: Chart) -> str:
    """Return the place of a chart in the body of a page."""
    return str(_parts().chart(chart))


def table_html(table: Table) -> str:
    """Return a table with its notes."""
    return str(_parts().plain_table(table))


def _parts() -> Any:
    return _environment().get_template("parts.html").module


@cache
def _environment() -> Environment:
    environment = Environment(
        loader=PackageLoader("benchmark.results.page"),
        autoescape=True,
        undefined=StrictUndefined,
        finalize=lambda value: visible(value) if type(value) is str else value,  # Markup stays as it is
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.policies["json.dumps_kwargs"] = {"allow_nan": False, "separators": (",", ":")}
    return environment


def _static(name: str) -> str:
    try:
        return (files("benchmark.results.page") / "static" / name).read_text(encoding="utf-8")
    except FileNotFoundError:  # each installation copies plotly's script from its wheel
        install = packages_command("--reinstall-package", "pairsift", "--editable", str(CHECKOUT))
        raise UserError(f"the page lacks its {name}; run `{install}`") from None
