"""All that the page shows of one leaderboard, from its results and the folders of its runs."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from benchmark.results.page.estimates import chart_measures, ranked
from benchmark.results.page.galleries import CaptionedSet, FilterPanel, captioned_sets, filter_panel
from benchmark.results.page.page_tables import PageTable, page_tables, seconds_text
from benchmark.results.page.plotly_charts import Chart, Styles, line_styles
from benchmark.results.page.quality_charts import cost_chart, diversity_chart, size_chart, training_chart
from benchmark.results.page.run_files import RunFiles
from benchmark.results.page.selection_charts import kept_chart, overlap_chart
from benchmark.results.report.certainty import Compared, RunFolders, compare_entries
from benchmark.results.report.entry_facts import scoring_costs
from benchmark.results.report.leaderboard import Leaderboard, group, headlines, leaderboards
from benchmark.results.result import Result


@dataclass(frozen=True)
class Answer:
    """The filters that may rank first by a metric.

    Args:
        metric: its name.
        labels: the filters, the highest mean first.
        sure: whether the only one is better than all others, over images and over seeds.
        cheapest: the filter of `labels` that scores fastest; empty where the cost of one is unknown.
        cost: its seconds of scoring, as text; empty where there is no such filter.
    """

    metric: str
    labels: list[str]
    sure: bool
    cheapest: str
    cost: str


@dataclass(frozen=True)
class LeaderboardView:
    """One leaderboard on the page.

    Args:
        key: prefix of the names of its parts, unique in the page.
        board: its runs, with its title and notes.
        first: the first of its runs.
        seeds: the numbers of seeds of its filters, smallest first.
        answers: one per headline metric that filters can be compared by.
        tables: one per set of metrics, the headline metrics first.
        charts: those that its data are there for, in the order of the page.
        panels: one per filter.
        captioned: generated captions side by side.
        missing: in one line each, which files are missing beside the results.
    """

    key: str
    board: Leaderboard
    first: Result
    seeds: list[int]
    answers: list[Answer]
    tables: list[PageTable]
    charts: list[Chart]
    panels: list[FilterPanel]
    captioned: list[CaptionedSet]
    missing: list[str]


def leaderboard_views(results: Sequence[Result], folders: RunFolders) -> list[LeaderboardView]:
    """Return the leaderboards, one per protocol."""
    boards = leaderboards(results)
    settings = list(dict.fromkeys(board.protocol.setting for board in boards))
    views = []
    for number, board in enumerate(boards):
        setting = board.protocol.setting
        of_setting = [entry for b in boards if b.protocol.setting == setting for entry in b.entries]
        all_sizes = group([run for entry in of_setting for run in entry.runs])  # one label at all sizes
        styles = line_styles([*all_sizes, *of_setting])
        sizes = size_chart(f"sizes{settings.index(setting)}", all_sizes, chart_measures(all_sizes), styles)
        views.append(_view(f"board{number}", board, folders, styles, [sizes] if sizes else []))
    return views


def _view(
    key: str, board: Leaderboard, folders: RunFolders, styles: Styles, shared: Sequence[Chart]
) -> LeaderboardView:
    """Return one leaderboard; `styles` and the charts `shared` are those of its setting.

    Of several seeds the files of the first are read.
    """
    entries = [replace(e, runs=sorted(e.runs, key=lambda run: run.seed)) for e in board.entries]
    measures = headlines(entries)
    entries = ranked(entries, measures[0]) if measures else entries
    compared = [compare_entries(measure, entries, folders) for measure in measures]
    files = [(entry, RunFiles(folders.folders.get(entry.runs[0].run_id))) for entry in entries]
    summaries = {entry.label: found for entry, run in files if (found := run.summary())}
    panels = [
        filter_panel(f"{key}-scores{number}", entry, summaries.get(entry.label), run.gallery())
        for number, (entry, run) in enumerate(files)
    ]
    first, costs = entries[0].runs[0], scoring_costs(entries).seconds
    models = dict.fromkeys(model for entry in entries for model in entry.runs[0].downstream)
    losses = {model: {entry.label: run.losses(model) for entry, run in files} for model in models}
    captioned = captioned_sets(files)
    captioner = next((m.evaluation for m in measures if m.model == "captioner"), "")
    charts = [
        cost_chart(f"{key}-cost", entries, chart_measures(entries), styles),
        kept_chart(f"{key}-kept", entries, summaries),
        overlap_chart(f"{key}-overlap", summaries, first.k / max(1, first.selection.scored)),
        training_chart(f"{key}-training", losses, styles),
        diversity_chart(f"{key}-diversity", entries, captioner, styles),
    ]
    return LeaderboardView(
        key=key,
        board=board,
        first=first,
        seeds=sorted({len(entry.runs) for entry in entries}),
        answers=[answer for of_metric in compared if (answer := _answer(of_metric, costs))],
        tables=page_tables(entries, compared),
        charts=[*shared, *(chart for chart in charts if chart)],
        panels=panels,
        captioned=captioned,
        missing=_missing(panels, losses, captioned),
    )


def _answer(compared: Compared, costs: Mapping[str, float | None]) -> Answer | None:
    """Return the filters that may rank first; None where nothing can be compared. `costs` are by label."""
    competing, comparison = compared.competing, compared.comparison
    if len(competing) < 2 or all(comparison.estimates[index].over_images is None for index in competing):
        return None
    first = [index for index in competing if comparison.ranks(index, competing)[0] == 1]
    first.sort(key=lambda index: -comparison.estimates[index].mean)
    labels = [compared.entries[index].label for index in first]
    known = {label: seconds for label in labels if (seconds := costs[label]) is not None}
    cheapest = min(known, key=known.__getitem__) if len(known) == len(labels) else ""
    return Answer(
        metric=f"{compared.measure.label}, {compared.measure.evaluation}",
        labels=labels,
        sure=compared.best() is not None,
        cheapest=cheapest,
        cost=seconds_text(known[cheapest]) if cheapest else "",
    )


def _missing(
    panels: Sequence[FilterPanel],
    losses: Mapping[str, Mapping[str, object]],
    captioned: Sequence[CaptionedSet],
) -> list[str]:
    """Return a line per kind of file that is missing beside some results."""
    labels = [panel.label for panel in panels]
    lacking = {
        "selection.json (scores, what is kept, overlap)": [p.label for p in panels if not p.scores],
        "gallery.parquet (pairs by score)": [p.label for p in panels if not p.pairs],
        "examples.parquet (generated captions)": [] if captioned else labels,
        "losses.json (training curves)": [
            label for label in labels if not any(of_model[label] for of_model in losses.values())
        ],
    }
    return [
        f"{name}: missing for {', '.join(of_file) if len(of_file) < len(labels) else 'every filter'}"
        for name, of_file in lacking.items()
        if of_file
    ]
