"""``report.html``: leaderboards, charts, galleries and all tables, in one file that loads nothing."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from itertools import groupby, zip_longest

from benchmark.results.page.charts import cost_chart, kept_chart, size_chart
from benchmark.results.page.galleries import (
    CaptionedSet,
    FilterPanel,
    Images,
    captioned_sets,
    filter_panel,
    thumbnails,
)
from benchmark.results.page.html_page import render
from benchmark.results.page.plotly_charts import Chart, Styles, line_styles
from benchmark.results.report.certainty import RANKS, RunFolders, compare_entries
from benchmark.results.report.entry_facts import ScoringCosts, has_toy_models, scoring_costs, seconds_text
from benchmark.results.report.frame import headlines
from benchmark.results.report.leaderboard import (
    REFERENCE,
    Entry,
    Leaderboard,
    group,
    leaderboards,
    report_title,
)
from benchmark.results.report.leaderboard_tables import board_tables, headline_table
from benchmark.results.report.table import Table
from benchmark.results.report.verdicts import BoardVerdict, board_verdict
from benchmark.results.result import Result
from benchmark.results.run_folder import RunFiles

SHOWN = 8  # filters that a leaderboard shows until the reader asks for all
LEGEND = (
    "A cell has the value, its 95% interval on the scale of the column, the rank, and the difference from random"
    " selection in the unit of the metric, in brackets unless one of both is better. The oracle reads the planted"
    " grades: a reference, not an upper bound, in no rank. Scoring is in processor seconds, or if no result has them"
    " in seconds on the clock, summed over workers.",
    RANKS,
)


@dataclass(frozen=True)
class LeaderboardView:
    """One leaderboard on the page."""

    key: str  # begins the names of its parts
    board: Leaderboard
    verdict: BoardVerdict
    cheapest: list[str]  # of each verdict: the filter that scores fastest, with its cost; empty if unknown
    machine: str  # on which these costs were measured
    shown: Sequence[str]  # filters shown at first
    shipped: frozenset[str]  # filters whose results are not the user's
    tables: dict[str, Table]  # by the name that the reader picks; the first has the headline metrics
    charts: list[Chart]
    panels: list[FilterPanel]
    captioned: list[CaptionedSet]

    @property
    def seeds(self) -> list[int]:
        """The numbers of seeds of its filters."""
        return sorted({len(entry.runs) for entry in self.board.entries})


def leaderboard_views(
    results: Sequence[Result], folders: RunFolders, shipped: Collection[str] = ()
) -> list[LeaderboardView]:
    """Return the leaderboards, one per protocol; `shipped` are ids of runs that only serve to compare."""
    boards, views = leaderboards(results), list[LeaderboardView]()
    for number, (_, same) in enumerate(groupby(boards, lambda board: board.protocol.setting)):
        of_setting = list(same)
        tables = [headline_table(board, folders, boards) for board in of_setting]
        entries = [
            entry for table in sorted(tables, key=lambda t: -len(t.entries)) for entry in table.entries
        ]
        all_sizes = group([run for entry in entries for run in entry.runs])  # one label at all sizes
        styles = line_styles([*entries, *all_sizes])
        sizes = size_chart(f"sizes{number}", all_sizes, folders, styles)
        for board, table in zip(of_setting, tables, strict=True):
            own = [e.label for e in table.entries if any(r.run_id not in shipped for r in e.all_runs)]
            views.append(_view(f"board{len(views)}", board, table, folders, styles, sizes, own))
    return views


def _shown(entries: Sequence[Entry], own: Sequence[str], folders: RunFolders) -> list[str]:
    """Return the labels of at most `SHOWN` filters: `own` if not all are, random, the oracle, the best."""
    aside = [entry.label for entry in entries if entry.label == REFERENCE]
    aside += [entry.label for entry in entries if not entry.competes][:1]
    competing = [entry for entry in entries if entry.competes]
    compared = [compare_entries(measure, competing, folders) for measure in headlines(entries)]
    best_first = [[of.entries[index].label for index in of.ranking] for of in compared]
    on_top = [label for position in zip_longest(*best_first) for label in position if label]
    first = [*(own if len(own) < len(entries) else []), *aside, *on_top, *(e.label for e in entries)]
    return list(dict.fromkeys(first))[:SHOWN]


def _view(
    key: str,
    board: Leaderboard,
    headline: Table,
    folders: RunFolders,
    styles: Styles,
    sizes: Chart | None,
    own: Sequence[str],
) -> LeaderboardView:
    """Return one leaderboard; `styles` and the chart of `sizes` belong to its setting, `own` filters are the user's.

    Of several seeds the files of the first are read, of other results than the user's only if they are shown.
    """
    entries, shown = headline.entries, _shown(board.entries, own, folders)
    files = [
        (entry, RunFiles(folders.folders.get(entry.runs[0].run_id)))
        for entry in entries
        if entry.label in {*shown, *own}
    ]
    summaries = {entry.label: summary for entry, run in files if (summary := run.summary())}
    panels = [
        filter_panel(f"{key}-scores{number}", entry, summaries.get(entry.label), run.gallery())
        for number, (entry, run) in enumerate(files)
    ]
    costs_of = cost_chart(f"{key}-cost", entries, folders, styles, shown)
    charts = [sizes, costs_of, kept_chart(f"{key}-kept", entries, summaries)]
    own_runs = [run for entry in entries if entry.label in own for run in entry.all_runs]
    verdict, costs = board_verdict(own_runs, folders, board.runs), scoring_costs(entries)
    cheapest = [_cheapest(of_metric.as_good, costs) for of_metric in verdict.verdicts]
    scored = [entry.runs[0] for entry in cheapest if entry]
    machine = " and ".join(dict.fromkeys(run.machine for run in scored))
    if any(has_toy_models(run.selection.config) for run in scored):
        machine += ", with the demo's toy models"
    others = {table.title.removeprefix(f"{board.title}: "): table for table in board_tables(board, folders)}
    return LeaderboardView(
        key=key,
        board=board,
        verdict=verdict,
        cheapest=[_cost(entry, costs) if entry else "" for entry in cheapest],
        machine=machine,
        shown=shown,
        shipped=frozenset(entry.label for entry in entries if entry.label not in own),
        tables={"headline metrics": headline} | others,
        charts=[chart for chart in charts if chart],
        panels=panels,
        captioned=captioned_sets(files),
    )


def _cheapest(entries: Sequence[Entry], costs: ScoringCosts) -> Entry | None:
    """Return the entry that scores fastest; None if the cost of any is unknown."""
    known = [(seconds, entry) for entry in entries if (seconds := costs.seconds.get(entry.label)) is not None]
    return min(known, key=lambda cost: cost[0])[1] if known and len(known) == len(entries) else None


def _cost(entry: Entry, costs: ScoringCosts) -> str:
    """Return the entry with the cost of scoring this pool, as it was measured."""
    on = "on one core" if costs.unit == "processor s" else "of one worker"
    pairs = f"the {entry.runs[0].pairs_read:,} pairs of this pool"
    return f"{entry.label}, {seconds_text(costs.seconds[entry.label] or 0)} {on} for {pairs}"


def leaderboard_page(
    results: Sequence[Result], folders: RunFolders, tables: Sequence[Table], shipped: Sequence[Result] = ()
) -> str:
    """Return the whole page; it says which files the folders of runs lack.

    `shipped` are results that `results` are compared with, and marked; `tables` follow the leaderboards.
    """
    views = leaderboard_views([*results, *shipped], folders, {run.run_id for run in shipped})
    panels = [panel for view in views for panel in view.panels]
    images = Images(thumbnails(panels, [captioned for view in views for captioned in view.captioned]))
    charts = [chart for v in views for chart in (*v.charts, *(p.scores for p in v.panels if p.scores))]
    return render(
        "page.html",
        charts,
        title=report_title([view.board for view in views]),
        views=views,
        first_view=max(views, key=lambda view: len(view.panels), default=None),  # shown first
        images=images,
        tables=tables,
        legend=LEGEND,
        metric_sets=list(dict.fromkeys(name for view in views for name in view.tables)),
        provenance=_provenance(results),
    )


def _provenance(results: Sequence[Result]) -> dict[str, str]:
    """Return the commits, machines, seeds and versions of the results; several values if they differ."""
    if not results:
        return {}
    pairs = sorted({pair for result in results for pair in result.versions.items()})
    versions = {name: [version for other, version in pairs if other == name] for name, _ in pairs}
    facts = {
        "runs": [str(len(results))],
        "finished": [min(r.finished for r in results), max(r.finished for r in results)],
        "commit": [result.git_commit or "unknown" for result in results],
        "machine": [result.machine for result in results],
        "seeds": [str(seed) for seed in sorted({result.seed for result in results})],
        "versions": [", ".join(f"{name} {' / '.join(versions[name])}" for name in versions)],
    }
    return {name: " · ".join(dict.fromkeys(values)) for name, values in facts.items()}
