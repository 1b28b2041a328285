"""The leaderboard's values on the page, with their intervals, and its tables, whose cells are sorted by them."""

import statistics
from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from benchmark.results.report.certainty import Compared, RunFolders, certainty_notes, compare_entries
from benchmark.results.report.columns import SHORT, heading, table_columns
from benchmark.results.report.entry_facts import cost_notes, description_percentage, row_notes, scoring_costs
from benchmark.results.report.leaderboard import REFERENCE, Entry, Measure, evaluations, headlines, metrics_of
from benchmark.results.report.table import MISSING
from benchmark.results.result import Result

LEGEND = (
    "A cell has the value, its 95% interval on the scale of the column, and the rank.",
    "Above random: the difference from random selection in the unit of the metric, in brackets unless one of both is"
    " better. The oracle reads the planted grades: a reference, not an upper bound, in no rank. Scoring is in"
    " processor seconds, or if no result has them in seconds on the clock, summed over workers.",
)


@dataclass(frozen=True)
class Value:
    """A value and the ends of its interval, None without one; `text` and `note` are both in words."""

    value: float
    low: float | None
    high: float | None
    text: str
    note: str


def value_of(entry: Entry, *by_size: Compared) -> Value | None:
    """Return the metric of an entry, which is one of those compared, over its seeds; None if no run has it."""
    compared = next((of_size for of_size in by_size if entry in of_size.entries), None)
    if compared is None or (estimate := compared.estimate(entry)) is None:
        return None
    text = compared.measure.text(estimate.mean)
    if estimate.interval is None:
        return Value(estimate.mean, None, None, text, "")
    note = " ".join([compared.interval(estimate), estimate.noise]).strip()
    return Value(estimate.mean, *estimate.interval, text, note)


def all_measures(entries: Sequence[Entry]) -> list[Measure]:
    """Return the headline measures, then every other metric of the tables that some entry has."""
    first, runs = headlines(entries), [run for entry in entries for run in entry.runs]
    others = [
        Measure.of(model, evaluation, m, name.replace("_", " ") if name in SHORT else heading(m))
        for model, evaluation in evaluations(entries)
        for columns in table_columns(m for r in runs for m in r.metrics(model, evaluation)).values()
        for name, m in columns.items()
    ]
    return first + [m for m in others if m not in first and any(m.values(entry) for entry in entries)]


def chart_measures(entries: Sequence[Entry]) -> dict[str, Measure]:
    """Return the metrics that charts offer by their names: all of the sets that a headline metric is measured on."""
    headline = {(m.model, m.evaluation) for m in headlines(entries)}
    return {
        f"{m.label}, {m.evaluation} ({m.model.replace('_', ' ')})": m
        for m in all_measures(entries)
        if (m.model, m.evaluation) in headline
    }


def ranked(entries: Sequence[Entry], measure: Measure) -> list[Entry]:
    """Return the entries, best value first, entries without the metric last."""
    values = {e.label: measure.signed(statistics.fmean(v)) for e in entries if (v := measure.values(e))}
    return sorted(entries, key=lambda entry: -values.get(entry.label, float("-inf")))


@dataclass(frozen=True)
class PageCell:
    """A text with a note."""

    text: str
    sort: float | None = None  # the number that sorts it; None sorts last
    note: str = ""
    title: str = ""  # its interval in words
    ends: str = ""  # its interval in digits
    rank: str = ""
    # Lower end, value and upper end of the interval on the scale of the column, in percent.
    range: tuple[float, ...] = ()


@dataclass(frozen=True)
class Row:
    """A filter."""

    label: str
    family: str
    role: str  # that it does not compete, is random selection, or which filters share the row
    aside: bool  # whether it is set apart from the filters that compete
    cells: list[PageCell]


@dataclass(frozen=True)
class PageTable:
    """A set of metrics of all filters of a leaderboard; `notes` say why metrics are missing."""

    name: str
    header: list[str]
    rows: list[Row]
    notes: list[str] = field(default_factory=list)
    ranked: frozenset[int] = frozenset()  # columns whose cells have ranks


def page_tables(entries: Sequence[Entry], folders: RunFolders) -> list[PageTable]:
    """Return the headline metrics, the metrics of each model on each evaluation set, and the costs."""
    measures = all_measures(entries)
    tables = [_headline_table(entries, [compare_entries(m, entries, folders) for m in headlines(entries)])]
    for model, evaluation in evaluations(entries):
        metrics = metrics_of(entries, model, evaluation)
        for ending, columns in table_columns(metrics).items():
            of_set = [m for m in measures if (m.model, m.evaluation) == (model, evaluation)]
            if chosen := [measure for measure in of_set if measure.metric in columns]:
                name = f"{model.replace('_', ' ')} on {evaluation}{ending}"
                compared = [compare_entries(measure, entries, folders) for measure in chosen]
                reasons = {m.name: m.reason for m in metrics if m.reason and m.name in columns}
                notes = certainty_notes(compared)
                notes += [f"{m.replace('_', ' ')} is missing: {reason}" for m, reason in reasons.items()]
                header = [measure.label for measure in chosen]
                tables.append(_table(name, header, entries, _columns(entries, compared), notes))
    costs = scoring_costs(entries)
    cells = zip(*(_cost_cells(entry, costs.seconds[entry.label]) for entry in entries), strict=True)
    header = ["kept", "distinct", "threshold", costs.heading, "pairs/s", "training", "peak memory"]
    tables.append(_table("selection and cost", header, entries, list(cells), cost_notes(entries, costs)))
    return tables


def _headline_table(entries: Sequence[Entry], compared: Sequence[Compared]) -> PageTable:
    costs, columns = scoring_costs(entries), list[tuple[str, list[PageCell]]]()
    for of_metric, cells in zip(compared, _columns(entries, compared), strict=True):
        name = f"{of_metric.measure.label}, {of_metric.measure.evaluation}"
        with_ranks = [_with_rank(cell, entry, of_metric) for entry, cell in zip(entries, cells, strict=True)]
        columns.append((name, with_ranks))
        if REFERENCE in [entry.label for entry in of_metric.entries] and len(of_metric.entries) > 1:
            columns.append(("above random", [_above_random(entry, of_metric) for entry in entries]))
    described = [description_percentage(entry) for entry in entries]
    if any(percentage is not None for percentage in described):
        columns.append(("descriptions among the kept", [_number(share, "{:.0f}%") for share in described]))
    columns.append((costs.heading, [_seconds(costs.seconds[entry.label]) for entry in entries]))
    columns.append(("seeds", [_number(len(entry.runs), "{}") for entry in entries]))
    header, cells_by_column = zip(*columns, strict=True)
    notes = [*certainty_notes(compared), *row_notes(entries), *costs.notes]
    table = _table("headline metrics", [*header], entries, cells_by_column, notes)
    ranks = (n for n, cells in enumerate(cells_by_column, 1) if any(cell.rank for cell in cells))
    return replace(table, ranked=frozenset(ranks))


def _above_random(entry: Entry, compared: Compared) -> PageCell:
    """Return the difference from random selection, in brackets if it is not significant."""
    random, measure, comparison = compared.index(REFERENCE), compared.measure, compared.comparison
    if entry not in compared.entries or entry.label == REFERENCE or random is None:
        return PageCell(MISSING)
    index = compared.entries.index(entry)
    difference = comparison.estimates[index].mean - comparison.estimates[random].mean
    amount = measure.text(abs(difference))
    text = amount if amount == measure.text(0.0) else ("-" if difference < 0 else "+") + amount
    certain = comparison.better(index, random) or comparison.better(random, index)
    return PageCell(text if certain else f"({text})", measure.signed(difference))


def _table(
    name: str,
    header: list[str],
    entries: Sequence[Entry],
    columns: Sequence[Sequence[PageCell]],
    notes: list[str],
) -> PageTable:
    rows = []
    for index, entry in enumerate(entries):
        aside, cells = not entry.competes or entry.label == REFERENCE, [column[index] for column in columns]
        rows.append(Row(entry.label, entry.runs[0].family, role(entry), aside, cells))
    return PageTable(name, ["filter", *header], rows, notes)


def role(entry: Entry) -> str:
    """Return what the row is besides its label: a reference, the baseline, the row of several filters, a draw."""
    rest = entry.name.removeprefix(entry.label).lstrip(", ")
    return f"{rest} baseline".strip() if entry.label == REFERENCE else rest


def _columns(entries: Sequence[Entry], compared: Sequence[Compared]) -> list[list[PageCell]]:
    """Return the cells of each metric, shape (metrics, entries), with their intervals on one scale per metric."""
    columns = []
    for of_metric in compared:
        measure, values = of_metric.measure, [value_of(entry, of_metric) for entry in entries]
        ends = [end for v in values if v for end in (v.value, v.low, v.high) if end is not None]
        missing = PageCell(MISSING)
        columns.append([_metric_cell(measure, v, min(ends), max(ends)) if v else missing for v in values])
    return columns


def _metric_cell(measure: Measure, value: Value, lowest: float, highest: float) -> PageCell:
    cell = PageCell(value.text, measure.signed(value.value), title=value.note)
    if value.low is None or value.high is None:
        return cell
    width = (highest - lowest) or 1.0
    scaled = (round(100 * (end - lowest) / width, 1) for end in (value.low, value.value, value.high))
    return replace(cell, range=tuple(scaled), ends=f"{measure.text(value.low)}–{measure.text(value.high)}")


def _with_rank(cell: PageCell, entry: Entry, compared: Compared) -> PageCell:
    rank = compared.rank(compared.entries.index(entry)) if entry in compared.entries else MISSING
    return cell if rank == MISSING else replace(cell, rank=rank.replace(" to ", "–"))


def _cost_cells(entry: Entry, seconds: float | None) -> list[PageCell]:
    run = entry.runs[0]
    return [
        _number(run.k, "{:,}"),
        _number(run.selection.distinct, "{:,}"),
        _number(run.selection.threshold, "{:.4g}"),
        _seconds(seconds),
        _number(run.pairs_read / seconds if seconds else None, "{:,.0f}"),
        _seconds(sum(trained.training.seconds for trained in run.downstream.values())),
        _memory(run),
    ]


def _memory(run: Result) -> PageCell:
    """Return the peak memory of a run's process, and with it that of its workers; sorted by the larger one."""
    process, workers = (size / 2**30 for size in (run.peak_rss_bytes, run.workers_peak_rss_bytes))
    note = f"workers {workers:.2g} GiB" if workers else ""
    return PageCell(f"{process:.2g} GiB", max(process, workers), note) if process else PageCell(MISSING)


def seconds_text(seconds: float) -> str:
    """Return seconds as the page shows them."""
    return f"{seconds:,.0f} s" if seconds >= 9.95 else f"{seconds:.2g} s"


def _seconds(seconds: float | None) -> PageCell:
    return PageCell(seconds_text(seconds), seconds) if seconds else PageCell(MISSING)


def _number(value: float | None, form: str) -> PageCell:
    return PageCell(MISSING) if value is None else PageCell(form.format(value), float(value))
