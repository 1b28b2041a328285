"""The leaderboard's tables on the page: one per set of metrics, each cell with the value that it is sorted by."""

from collections.abc import Container, Sequence
from dataclasses import dataclass, field, replace

from benchmark.results.page.estimates import Value, all_measures, value_of
from benchmark.results.report.certainty import Compared
from benchmark.results.report.columns import table_columns
from benchmark.results.report.entry_facts import clean_percentage, cost_notes, pairs_read, scoring_costs
from benchmark.results.report.leaderboard import REFERENCE, Entry, Measure, evaluations, headlines
from benchmark.results.report.table import MISSING
from benchmark.results.result import Result


@dataclass(frozen=True)
class Range:
    """The ends of an interval, and the value, on the scale of their column, in percent."""

    low: float
    value: float
    high: float


@dataclass(frozen=True)
class PageCell:
    """A text, the number that sorts it (None sorts last), notes below it, and its interval as a picture."""

    text: str
    sort: float | None = None
    notes: tuple[str, ...] = ()
    range: Range | None = None


@dataclass(frozen=True)
class Row:
    """A filter; `role` says that it does not compete, or that it is the reference."""

    label: str
    family: str
    role: str
    cells: list[PageCell]


@dataclass(frozen=True)
class PageTable:
    """A set of metrics of all filters of a leaderboard; `notes` say why metrics are missing."""

    name: str
    header: list[str]
    rows: list[Row]
    notes: list[str] = field(default_factory=list)


def page_tables(entries: Sequence[Entry], compared: Sequence[Compared]) -> list[PageTable]:
    """Return the headline metrics, the metrics of each model on each evaluation set, and the costs.

    `compared` has the entries compared by each headline metric.
    """
    measures = all_measures(entries)
    tables = [_headline_table(entries, compared)]
    for model, evaluation in evaluations(entries):
        metrics = [m for entry in entries for run in entry.runs for m in run.metrics(model, evaluation)]
        for ending, columns in table_columns(metrics).items():
            of_set = [m for m in measures if (m.model, m.evaluation) == (model, evaluation)]
            if chosen := [measure for measure in of_set if measure.metric in columns]:
                name = f"{model.replace('_', ' ')} on {evaluation}{ending}"
                notes = _missing(entries, model, evaluation, columns)
                tables.append(
                    _table(name, [m.label for m in chosen], entries, _columns(entries, chosen), notes)
                )
    costs = scoring_costs(entries)
    cells = zip(*(_cost_cells(entry, costs.seconds[entry.label]) for entry in entries), strict=True)
    header = ["kept", "distinct", "threshold", costs.heading, "pairs/s", "training", "peak memory"]
    tables.append(_table("selection and cost", header, entries, list(cells), cost_notes(entries, costs)))
    return tables


def _headline_table(entries: Sequence[Entry], compared: Sequence[Compared]) -> PageTable:
    measures, costs = headlines(entries), scoring_costs(entries)
    columns = {
        f"{measure.label}, {measure.evaluation}": [
            _with_rank(cell, entry, of_metric) for entry, cell in zip(entries, cells, strict=True)
        ]
        for measure, cells, of_metric in zip(measures, _columns(entries, measures), compared, strict=True)
    }
    clean = [clean_percentage(entry) for entry in entries]
    if any(percentage is not None for percentage in clean):
        columns["clean pairs kept"] = [_number(percentage, "{:.0f}%") for percentage in clean]
    columns[costs.heading] = [_seconds(costs.seconds[entry.label]) for entry in entries]
    columns["seeds"] = [_number(len(entry.runs), "{}") for entry in entries]
    return _table("headline metrics", list(columns), entries, list(columns.values()), costs.notes)


def _table(
    name: str,
    header: list[str],
    entries: Sequence[Entry],
    columns: Sequence[Sequence[PageCell]],
    notes: list[str],
) -> PageTable:
    rows = [
        Row(entry.label, entry.runs[0].family, role(entry), [column[index] for column in columns])
        for index, entry in enumerate(entries)
    ]
    return PageTable(name, ["filter", *header], rows, notes)


def _missing(entries: Sequence[Entry], model: str, evaluation: str, columns: Container[str]) -> list[str]:
    """Return a line per metric that some run could not compute, with the reason."""
    metrics = [m for entry in entries for run in entry.runs for m in run.metrics(model, evaluation)]
    reasons = {metric.name: metric.reason for metric in metrics if metric.reason and metric.name in columns}
    return [f"{name.replace('_', ' ')} is missing: {reason}" for name, reason in reasons.items()]


def role(entry: Entry) -> str:
    """Return the role that sets an entry apart from the filters that compete; empty for these."""
    if entry.is_upper_bound:
        return "does not compete"
    return "reference" if entry.label == REFERENCE else ""


def _columns(entries: Sequence[Entry], measures: Sequence[Measure]) -> list[list[PageCell]]:
    """Return the cells of each measure, shape (measures, entries), with their intervals on one scale per measure."""
    columns = []
    for measure in measures:
        values = [value_of(entry, measure) for entry in entries]
        ends = [end for v in values if v for end in (v.value, v.low, v.high) if end is not None]
        columns.append([_metric_cell(v, min(ends), max(ends)) if v else PageCell(MISSING) for v in values])
    return columns


def _metric_cell(value: Value, lowest: float, highest: float) -> PageCell:
    if value.low is None or value.high is None:
        return PageCell(value.text, value.value)
    width = (highest - lowest) or 1.0
    scaled = (round(100 * (end - lowest) / width, 1) for end in (value.low, value.value, value.high))
    return PageCell(value.text, value.value, (value.note,), Range(*scaled))


def _with_rank(cell: PageCell, entry: Entry, compared: Compared) -> PageCell:
    if entry.is_upper_bound or entry not in compared.entries:
        return cell
    rank = compared.rank(compared.entries.index(entry))
    return replace(cell, notes=(*cell.notes, f"rank {rank}"))


def _cost_cells(entry: Entry, seconds: float | None) -> list[PageCell]:
    run = entry.runs[0]
    return [
        _number(run.k, "{:,}"),
        _number(run.selection.distinct, "{:,}"),
        _number(run.selection.threshold, "{:.4g}"),
        _seconds(seconds),
        _number(pairs_read(run) / seconds if seconds else None, "{:,.0f}"),
        _seconds(sum(trained.training.seconds for trained in run.downstream.values())),
        _memory(run),
    ]


def _memory(run: Result) -> PageCell:
    """Return the peak memory of a run's process, and below it that of its workers; sorted by the larger one."""
    process, workers = (size / 2**30 for size in (run.peak_rss_bytes, run.workers_peak_rss_bytes))
    notes = (f"workers {workers:.2g} GiB",) if workers else ()
    return PageCell(f"{process:.2g} GiB", max(process, workers), notes) if process else PageCell(MISSING)


def seconds_text(seconds: float) -> str:
    """Return seconds as the page shows them."""
    return f"{seconds:,.0f} s" if seconds >= 9.95 else f"{seconds:.2g} s"


def _seconds(seconds: float | None) -> PageCell:
    return PageCell(seconds_text(seconds), seconds) if seconds else PageCell(MISSING)


def _number(value: float | None, form: str) -> PageCell:
    return PageCell(MISSING) if value is None else PageCell(form.format(value), float(value))
