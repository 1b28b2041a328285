"""``report.html``: leaderboards, charts, galleries and all tables, in one file that loads nothing."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from benchmark.results.page.estimates import LEGEND, chart_measures, ranked
from benchmark.results.page.galleries import (
    CaptionedSet,
    FilterPanel,
    Images,
    captioned_sets,
    filter_panel,
    thumbnails,
)
from benchmark.results.page.html_page import render
from benchmark.results.page.page_tables import PageTable, page_tables, seconds_text
from benchmark.results.page.plotly_charts import Chart, Styles, line_styles
from benchmark.results.page.quality_charts import cost_chart, diversity_chart, size_chart, training_chart
from benchmark.results.page.selection_charts import kept_chart, overlap_chart
from benchmark.results.report.certainty import RANKS, Compared, RunFolders, compare_entries
from benchmark.results.report.entry_facts import scoring_costs
from benchmark.results.report.leaderboard import FAMILIES, Leaderboard, group, headlines, leaderboards
from benchmark.results.report.significance import MIN_SEEDS
from benchmark.results.report.table import Table
from benchmark.results.result import Result
from benchmark.results.run_folder import RunFiles


@dataclass(frozen=True)
class Answer:
    """The filters that may rank first by a metric, the highest mean first.

    `sure`: the only one is better than all others, over images and over seeds. `cheapest` of them scores fastest, in
    `cost` seconds; both are empty if the cost of any is unknown.
    """

    metric: str
    labels: list[str]
    sure: bool
    cheapest: str
    cost: str


@dataclass(frozen=True)
class LeaderboardView:
    """One leaderboard on the page.

    `key` begins the names of its parts, `first` is its first run, `seeds` are the numbers of seeds of its filters,
    and `missing` has a line per kind of file that runs lack.
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
    """Return one leaderboard; `styles` and the charts `shared` belong to its setting.

    Of several seeds the files of the first are read.
    """
    entries = [replace(e, runs=sorted(e.runs, key=lambda run: run.seed)) for e in board.entries]
    measures = headlines(entries)
    entries = ranked(entries, measures[0]) if measures else entries
    compared = [compare_entries(measure, entries, folders) for measure in measures]
    files = [(entry, RunFiles(folders.folders.get(entry.runs[0].run_id))) for entry in entries]
    summaries = {entry.label: summary for entry, run in files if (summary := run.summary())}
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
    best_first = [index for index in compared.ranking if index in competing]
    first = [index for index in best_first if comparison.ranks(index, competing)[0] == 1]
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
    """Return a line per kind of file that some runs lack."""
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


def leaderboard_page(results: Sequence[Result], folders: RunFolders, tables: Sequence[Table]) -> str:
    """Return the whole page; it says which files the folders of runs lack."""
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
