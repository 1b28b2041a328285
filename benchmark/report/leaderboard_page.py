"""The leaderboard as a page: rankings, kinds of noise kept and costs as charts, then every table."""

import statistics
from collections.abc import Iterable, Sequence
from html import escape

from benchmark.report.headlines import Headline, headlines
from benchmark.report.html_page import page, table_html
from benchmark.report.leaderboard_entries import Entry, Leaderboard, leaderboards
from benchmark.report.leaderboard_figures import cost_figure, diversity_figures, noise_figure, ranking_figure
from benchmark.report.leaderboard_tables import LEGEND
from benchmark.report.table import Table
from benchmark.results.result import Result

_STYLE = """.charts{display:grid;grid-template-columns:repeat(auto-fill,minmax(22em,1fr));gap:1.5em 2em}
figure{margin:0}figcaption{font-weight:bold;margin-bottom:.3em}figcaption small{display:block;font-weight:normal}
.charts{align-items:start;margin-bottom:1.5em}@media(min-width:60em){.broad{grid-column:span 2}}
td{white-space:nowrap}td:first-child{position:sticky;left:0;background:Canvas}
.key{margin:.2em 0;font-size:13px}.key span{margin-right:1.2em;white-space:nowrap}
.key i{display:inline-block;width:.8em;height:.8em;margin-right:.35em}footer{font-size:13px;opacity:.8}"""
_INTRODUCTION = """<p>Every downstream model was trained on the pairs that a filter kept, with the same budget of
samples seen. The charts of quality rank the filters, the best first. The dashed line and the grey bar are random
selection; orange bars are not better than random. The bar with a dashed outline is the oracle, which reads the
planted noise labels and does not compete. Whiskers are one standard deviation over seeds. Hover over a bar or a point
to see its value.</p>"""


def leaderboard_page(results: Sequence[Result], tables: Sequence[Table]) -> str:
    """Return a whole page: charts of every leaderboard, all tables, and the provenance of the results."""
    body = [_INTRODUCTION] if results else []
    boards = leaderboards(results)
    for board in boards:
        all_sizes = [e for b in boards if b.protocol.setting == board.protocol.setting for e in b.entries]
        body += _section(board, all_sizes)
    body.append("<h2>Tables</h2>")
    body += [f"<p>{LEGEND}</p>"] if results else []
    body += [table_html(table) for table in tables]
    return page("Leaderboard", [*body, _provenance(results)] if results else body, _STYLE, width="84em")


def _section(board: Leaderboard, all_sizes: Sequence[Entry]) -> list[str]:
    """Return the charts of one leaderboard. Bars of a metric have the same scale at every size of its setting."""
    entries, compared = board.entries, headlines(all_sizes)
    run = entries[0].runs[0]
    title = f"{board.title}: {run.k:,} pairs kept of {run.selection.scored:,} scored"
    ranked = sorted(entries, key=lambda entry: _rank(entry, compared))
    rows = [[ranking_figure(headline, entries, all_sizes) for headline in compared], [noise_figure(ranked)]]
    captioning = next((headline for headline in compared if headline.model == "captioner"), None)
    if captioning:
        rows[1].append(cost_figure(captioning, entries))
        rows.append(diversity_figures(captioning, ranked))
    grids = [f'<div class="charts">{"".join(row)}</div>' for row in rows if any(row)]
    return [f"<h2>{escape(title)}</h2>", *(f"<p>{escape(note)}</p>" for note in board.notes), *grids]


def _rank(entry: Entry, compared: Sequence[Headline]) -> float:
    """Return the key that sorts entries by the first headline, best first, entries without it last."""
    values = compared[0].values(entry) if compared else []
    return -statistics.fmean(values) if values else 1.0


def _provenance(results: Sequence[Result]) -> str:
    """Return the commits, machines, seeds and versions of the results; several values where they differ."""
    libraries = sorted({name for result in results for name in result.versions})
    facts = {
        "runs": [str(len(results))],
        "finished": [min(r.finished for r in results), max(r.finished for r in results)],
        "commit": [result.git_commit or "unknown" for result in results],
        "machine": [result.machine for result in results],
        "seeds": [str(seed) for seed in sorted({result.seed for result in results})],
        "versions": [", ".join(f"{name} {_versions(results, name)}" for name in libraries)],
    }
    rows = [f"<b>{name}</b>: {escape(' · '.join(dict.fromkeys(values)))}" for name, values in facts.items()]
    return f"<footer><h2>Provenance</h2><p>{'<br>'.join(rows)}</p></footer>"


def _versions(results: Iterable[Result], library: str) -> str:
    return " / ".join(sorted({r.versions[library] for r in results if library in r.versions}))
