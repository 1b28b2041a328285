"""The leaderboard as a page: how the filters rank, what they keep, what they cost, then every table."""

import statistics
from collections.abc import Iterable, Sequence
from html import escape

from benchmark.report.entries import Entry, by_pool, group
from benchmark.report.html_page import page, table_html
from benchmark.report.leaderboard_figures import Headline, cost, diversity, headlines, kept, ranking
from benchmark.report.leaderboard_tables import LEGEND, Table, thousands
from benchmark.results.result import Result

_STYLE = """.charts{display:grid;grid-template-columns:repeat(auto-fill,minmax(22em,1fr));gap:1.5em 2em}
figure{margin:0}figcaption{font-weight:bold;margin-bottom:.3em}figcaption small{display:block;font-weight:normal}
.charts{align-items:start;margin-bottom:1.5em}@media(min-width:60em){.broad{grid-column:span 2}}
td{white-space:nowrap}td:first-child{position:sticky;left:0;background:Canvas}
.key{margin:.2em 0;font-size:13px}.key span{margin-right:1.2em;white-space:nowrap}
.key i{display:inline-block;width:.8em;height:.8em;margin-right:.35em}footer{font-size:13px;opacity:.8}"""
_INTRODUCTION = """<p>The same models trained on what each filter kept, for the same number of samples. In the charts
of quality the best filter comes first. The dashed line and the grey bar are random selection; bars in orange are no
better than it. The bar with a dashed edge is the oracle, which knows the noise and is meant as an upper bound.
Whiskers are one standard deviation over seeds. Point at a bar or a point for its value.</p>"""


def to_html(results: Sequence[Result], tables: Sequence[Table]) -> str:
    """Return a whole page: charts for every pool and size, all tables, and what the results came from."""
    body = [_INTRODUCTION] if results else []
    for pool, found in by_pool(results):
        entries = group(found)
        compared = headlines(entries)
        for size in sorted({entry.size for entry in entries}):
            body += _section(pool, [e for e in entries if e.size == size], entries, compared)
    body += [f"<h2>Tables</h2><p>{LEGEND}</p>"]
    body += [table_html(table) for table in tables]
    return page("Leaderboard", [*body, _provenance(results)] if results else body, _STYLE, width="84em")


def _section(
    pool: str, entries: Sequence[Entry], of_all_sizes: Sequence[Entry], compared: Sequence[Headline]
) -> list[str]:
    """Return the charts of one pool and size. Bars of a metric have the same scale at every size."""
    run = entries[0].runs[0]
    title = (
        f"Pool {pool}, size {thousands(run.size)}: {run.k:,} pairs kept of {run.selection['scored']:,} scored"
    )
    ranked = sorted(entries, key=lambda entry: _rank(entry, compared))
    rows = [[ranking(headline, entries, of_all_sizes) for headline in compared], [kept(ranked)]]
    captioning = next((headline for headline in compared if headline.model == "captioner"), None)
    if captioning:
        rows[1].append(cost(captioning, entries))
        rows.append(diversity(captioning, ranked))
    grids = [f'<div class="charts">{"".join(row)}</div>' for row in rows if any(row)]
    return [f"<h2>{escape(title)}</h2>", *grids]


def _rank(entry: Entry, compared: Sequence[Headline]) -> float:
    """Return what sorts entries by the first headline, best first, those without it last."""
    values = compared[0].values(entry) if compared else []
    return -statistics.fmean(values) if values else 1.0


def _provenance(results: Sequence[Result]) -> str:
    """Return what the results came from; several values where they differ."""
    libraries = sorted({name for result in results for name in result.versions})
    facts = {
        "runs": [f"{len(results)}"],
        "finished": [min(r.finished for r in results), max(r.finished for r in results)],  # first and last
        "commit": [result.git_commit or "unknown" for result in results],
        "machine": [result.machine for result in results],
        "seeds": [str(seed) for seed in sorted({result.seed for result in results})],
        "versions": [", ".join(f"{name} {_versions(results, name)}" for name in libraries)],
    }
    rows = [f"<b>{name}</b>: {escape(' · '.join(dict.fromkeys(values)))}" for name, values in facts.items()]
    return f"<footer><h2>Where the results come from</h2><p>{'<br>'.join(rows)}</p></footer>"


def _versions(results: Iterable[Result], library: str) -> str:
    return " / ".join(sorted({r.versions[library] for r in results if library in r.versions}))
