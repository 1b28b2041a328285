"""``report.html``: leaderboards, charts, galleries and all tables, in one file that loads nothing."""

import base64
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain, groupby, zip_longest

from benchmark.core.hashes import hash_bytes
from benchmark.results.page.charts import (
    Chart,
    Styles,
    cost_chart,
    kept_chart,
    line_styles,
    score_chart,
    size_chart,
)
from benchmark.results.page.html_page import render
from benchmark.results.report.certainty import RANKS, RunFolders, compare_entries
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
from benchmark.results.run_folder import Example, Fractions, GalleryPair, RunFiles, SelectionSummary

BUDGET = 4_500_000  # characters of base64 in the page
PLACES = {
    "top": "The highest scores",
    "kept": "Kept: just above the threshold",
    "dropped": "Dropped: just below the threshold",
    "bottom": "The lowest scores",
    "passing": "Kept: some of what passes",
    "failing": "Dropped: some of what fails",
}
SHOWN = 8  # filters that a leaderboard shows until the reader asks for all
LEGEND = (
    "A cell has the value, its 95% interval on the scale of the column, the rank, and the difference from random"
    " selection in the unit of the metric, in brackets unless one of both is better. The oracle reads the planted"
    " grades: a reference, not an upper bound, in no rank. Scoring is in processor seconds, or if no result has them"
    " in seconds on the clock, summed over workers.",
    RANKS,
)


class Images:
    """Thumbnails by name, as base64: as many of `wanted`, the most wanted first, as `budget` characters hold."""

    def __init__(self, wanted: Iterable[bytes], budget: int = BUDGET) -> None:
        self.encoded: dict[str, str] = {}
        self.left_out = False
        for name, data in {hash_bytes(data, 12): data for data in wanted if data}.items():
            encoded = base64.b64encode(data).decode()
            if len(encoded) <= budget:
                self.encoded[name] = encoded
                budget -= len(encoded)
            else:
                self.left_out = True

    def name(self, data: bytes) -> str:
        """Return the name of a thumbnail; empty if it is not on the page."""
        name = hash_bytes(data, 12)
        return name if name in self.encoded else ""


@dataclass(frozen=True)
class FilterPanel:
    """One filter: its scores, the words that it prefers, and pairs at four places of its ranking, by their titles."""

    entry: Entry
    scores: Chart | None
    words: Mapping[str, Fractions]
    pairs: dict[str, list[GalleryPair]]


def filter_panel(
    key: str, entry: Entry, summary: SelectionSummary | None, pairs: Sequence[GalleryPair]
) -> FilterPanel:
    """Return the panel of a filter; `key` is the name of its chart."""
    threshold = entry.runs[0].selection.threshold
    scores = score_chart(key, entry.label, summary.scores, threshold) if summary else None
    places = {title: [pair for pair in pairs if pair.place == place] for place, title in PLACES.items()}
    shown = {title: of_place for title, of_place in places.items() if of_place}
    return FilterPanel(entry, scores, summary.words if summary else {}, shown)


@dataclass(frozen=True)
class CaptionedSet:
    """The images of one evaluation set, each with the captions of the filters' models of one kind."""

    model: str
    evaluation: str
    images: list[tuple[Example, list[tuple[Entry, str]]]]


def captioned_sets(entries: Sequence[tuple[Entry, RunFiles]]) -> list[CaptionedSet]:
    """Return the generated captions side by side, as in the ICC paper's Figure 4."""
    examples = next((shown for _, files in entries if (shown := files.examples())), [])
    models = dict.fromkeys(model for entry, _ in entries for model in entry.runs[0].downstream)
    sets = []
    for evaluation in dict.fromkeys(example.evaluation for example in examples):
        of_set = [example for example in examples if example.evaluation == evaluation]
        for model in models:
            captions = [(entry, files.captions(model, evaluation)) for entry, files in entries]
            written = [
                [(entry, texts[e.image]) for entry, texts in captions if e.image in texts] for e in of_set
            ]
            if any(written):
                sets.append(CaptionedSet(model, evaluation, list(zip(of_set, written, strict=True))))
    return sets


def thumbnails(panels: Sequence[FilterPanel], sets: Sequence[CaptionedSet]) -> Iterator[bytes]:
    """Yield the thumbnails, the most wanted first: evaluation images, then a pair of each place of each filter."""
    for captioned in sets:
        yield from (example.thumbnail for example, _ in captioned.images)
    for pairs in zip_longest(*(pairs for panel in panels for pairs in panel.pairs.values())):
        yield from (pair.thumbnail for pair in pairs if pair)


@dataclass(frozen=True)
class LeaderboardView:
    """One leaderboard on the page."""

    key: str  # begins the names of its parts
    board: Leaderboard
    verdict: BoardVerdict
    shown: Sequence[str]  # filters shown at first
    shipped: frozenset[str]  # filters that the user did not run
    tables: dict[str, Table]  # by the name that the reader picks; the first has the headline metrics
    charts: list[Chart]
    panels: list[FilterPanel]
    captioned: list[CaptionedSet]


def leaderboard_views(
    results: Sequence[Result], folders: RunFolders, shipped: Collection[str] = ()
) -> list[LeaderboardView]:
    """Return the leaderboards, one per protocol; `shipped` are ids of runs that only serve to compare."""
    boards, views = leaderboards(results), list[LeaderboardView]()
    for number, (_, same) in enumerate(groupby(boards, lambda board: board.protocol.family)):
        of_family = list(same)
        tables = [headline_table(board, folders, boards) for board in of_family]
        entries = [
            entry for table in sorted(tables, key=lambda t: -len(t.entries)) for entry in table.entries
        ]
        all_sizes = group([run for entry in entries for run in entry.all_runs])  # one label at all sizes
        styles = line_styles([*entries, *all_sizes])
        sizes = size_chart(f"sizes{number}", all_sizes, folders, styles)
        for board, table in zip(of_family, tables, strict=True):
            own = [e.label for e in table.entries if any(r.run_id not in shipped for r in e.all_runs)]
            views.append(_view(f"board{len(views)}", board, table, folders, styles, sizes, own))
    return views


def _shown(entries: Sequence[Entry], own: Sequence[str], folders: RunFolders) -> list[str]:
    """Return the labels of at most `SHOWN` filters: `own` if not all are, random, the oracle, the best."""
    competing = [entry for entry in entries if entry.competes]
    aside = [entry.label for entry in entries if entry.label == REFERENCE]
    aside += [entry.label for entry in entries if not entry.competes][:1]
    compared = [compare_entries(measure, competing, folders) for measure in headlines(entries)]
    best_first = zip_longest(*([of.entries[index].label for index in of.ranking] for of in compared))
    first = [*(own if len(own) < len(entries) else []), *aside, *chain.from_iterable(best_first)]
    return list(filter(None, dict.fromkeys([*first, *(e.label for e in entries)])))[:SHOWN]


def _view(
    key: str,
    board: Leaderboard,
    headline: Table,
    folders: RunFolders,
    styles: Styles,
    sizes: Chart | None,
    own: Sequence[str],
) -> LeaderboardView:
    """Return one leaderboard; `styles` and the chart of `sizes` belong to its family, `own` filters are the user's.

    Of several seeds the files of the first are read, of other results than the user's only if they are shown.
    """
    entries, shown = headline.entries, _shown(board.entries, own, folders)
    some = [entry for entry in entries if entry.label in {*shown, *own}]
    files = [(entry, RunFiles(folders.folders.get(entry.runs[0].run_id))) for entry in some]
    summaries = {entry.label: summary for entry, run in files if (summary := run.summary())}
    panels = [
        filter_panel(f"{key}-scores{number}", entry, summaries.get(entry.label), run.gallery())
        for number, (entry, run) in enumerate(files)
    ]
    costs_of = cost_chart(f"{key}-cost", entries, folders, styles, shown)
    charts = [sizes, costs_of, kept_chart(f"{key}-kept", entries, summaries)]
    own_runs = [run for entry in entries if entry.label in own for run in entry.all_runs]
    others = {table.title.removeprefix(f"{board.title}: "): table for table in board_tables(board, folders)}
    return LeaderboardView(
        key=key,
        board=board,
        verdict=board_verdict(own_runs, folders, board.runs, board.all_sizes),
        shown=shown,
        shipped=frozenset(entry.label for entry in entries if entry.label not in own),
        tables={"headline metrics": headline} | others,
        charts=[chart for chart in charts if chart],
        panels=panels,
        captioned=captioned_sets(files),
    )


def leaderboard_page(
    results: Sequence[Result],
    folders: RunFolders,
    tables: Sequence[Table],
    shipped: Sequence[Result] = (),
    advice: Sequence[Table] = (),
) -> str:
    """Return the whole page; it says which files the folders of runs lack.

    `shipped` are results that `results` are compared with, and marked; `advice` and `tables` follow the leaderboards,
    the latter folded.
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
        advice=advice,
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
