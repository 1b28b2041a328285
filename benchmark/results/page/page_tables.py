"""The leaderboard's tables on the page: one per set of metrics, every cell with what it is sorted by."""

from collections.abc import Container, Sequence
from dataclasses import dataclass, field, replace

from benchmark.core.batch import NO_SCORE
from benchmark.results.page.estimates import (
    Estimate,
    Measure,
    all_measures,
    estimate,
    headline_measures,
)
from benchmark.results.report.certainty import Compared
from benchmark.results.report.columns import COLUMNS
from benchmark.results.report.entry_facts import contamination_notes, loss_notes, scoring_costs
from benchmark.results.report.leaderboard import REFERENCE, Entry, evaluations
from benchmark.results.report.table import MISSING
from benchmark.results.result import Result


@dataclass(frozen=True)
class Range:
    """Where a value and the ends of its interval lie on the scale of their column, in percent."""

    low: float
    value: float
    high: float


@dataclass(frozen=True)
class PageCell:
    """A text, notes below it, what the column is sorted by (nothing sorts last), and its interval as a picture."""

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


def board_tables(entries: Sequence[Entry], compared: Sequence[Compared]) -> list[PageTable]:
    """Return the headline metrics, the metrics of each model on each evaluation set, and the costs.

    Args:
        entries: the rows, in their order.
        compared: the entries compared by each headline metric.
    """
    measures = all_measures(entries)
    tables = [_headline_table(entries, compared)]
    for model, evaluation in evaluations(entries):
        for ending, columns in COLUMNS.items():
            chosen = [
                m for m in measures if (m.model, m.evaluation) == (model, evaluation) and m.metric in columns
            ]
            if chosen:
                name = f"{model.replace('_', ' ')} on {evaluation}{ending}"
                table = _table(name, [m.label for m in chosen], entries, _columns(entries, chosen))
                tables.append(replace(table, notes=_missing(entries, model, evaluation, columns)))
    scoring = scoring_costs(entries)
    costs = [_cost_cells(entry, scoring.seconds[entry.label]) for entry in entries]
    header = ["kept", "distinct", "threshold", scoring.heading, "pairs/s", "training", "peak memory"]
    costs_table = _table("selection and cost", header, entries, list(zip(*costs, strict=True)))
    notes = scoring.notes + loss_notes(entries) + contamination_notes(entries)
    tables.append(replace(costs_table, notes=notes))
    return tables


def _headline_table(entries: Sequence[Entry], compared: Sequence[Compared]) -> PageTable:
    measures = headline_measures(entries)
    header = [f"{m.label}, {m.evaluation}" for m in measures]
    columns = [
        [_with_rank(cell, entry, of_metric) for entry, cell in zip(entries, column, strict=True)]
        for column, of_metric in zip(_columns(entries, measures), compared, strict=True)
    ]
    if any(_clean(entry) is not None for entry in entries):
        header.append("clean pairs kept")
        columns.append([_number(_clean(entry), "{:.0f}%") for entry in entries])
    costs = scoring_costs(entries)
    header += [costs.heading, "seeds"]
    columns.append([_seconds(costs.seconds[entry.label]) for entry in entries])
    columns.append([_number(len(entry.runs), "{}") for entry in entries])
    return replace(_table("headline metrics", header, entries, columns), notes=costs.notes)


def _table(
    name: str, header: list[str], entries: Sequence[Entry], columns: Sequence[Sequence[PageCell]]
) -> PageTable:
    rows = [
        Row(entry.label, entry.runs[0].family, role(entry), [column[index] for column in columns])
        for index, entry in enumerate(entries)
    ]
    return PageTable(name, ["filter", *header], rows)


def _missing(entries: Sequence[Entry], model: str, evaluation: str, columns: Container[str]) -> list[str]:
    """Return a line per metric that some run could not compute, with the reason."""
    trained = [run.downstream[model] for entry in entries for run in entry.runs if model in run.downstream]
    metrics = [metric for result in trained for metric in result.evaluations.get(evaluation, [])]
    reasons = {metric.name: metric.reason for metric in metrics if metric.reason and metric.name in columns}
    return [f"{name.replace('_', ' ')} is missing: {reason}" for name, reason in reasons.items()]


def role(entry: Entry) -> str:
    """Return what sets an entry apart from the filters that compete; empty for these."""
    if entry.is_upper_bound:
        return "does not compete"
    return "reference" if entry.label == REFERENCE else ""


def _columns(entries: Sequence[Entry], measures: Sequence[Measure]) -> list[list[PageCell]]:
    """Return the cells of each measure, shape (measures, entries), with their intervals on one scale per measure."""
    columns = []
    for measure in measures:
        estimates = [estimate(entry, measure) for entry in entries]
        ends = [end for e in estimates if e for end in (e.value, e.low, e.high) if end is not None]
        columns.append([_metric_cell(e, min(ends), max(ends)) if e else PageCell(MISSING) for e in estimates])
    return columns


def _metric_cell(found: Estimate, lowest: float, highest: float) -> PageCell:
    if found.low is None or found.high is None:
        return PageCell(found.text, found.value)
    width = (highest - lowest) or 1.0
    low, value, high = (
        round(100 * (end - lowest) / width, 1) for end in (found.low, found.value, found.high)
    )
    return PageCell(found.text, found.value, (found.note,), Range(low, value, high))


def _with_rank(cell: PageCell, entry: Entry, compared: Compared) -> PageCell:
    if entry.is_upper_bound or entry not in compared.entries:
        return cell
    rank = compared.rank(compared.entries.index(entry))
    return replace(cell, notes=(*cell.notes, f"rank {rank}"))


def _clean(entry: Entry) -> float | None:
    """Return the percentage of clean pairs among the kept ones; None for pools whose noise is not known."""
    kept = entry.runs[0].kept
    total = sum(kept.values())
    return 100 * kept.get("concrete", 0) / total if total else None


def _cost_cells(entry: Entry, seconds: float | None) -> list[PageCell]:
    run = entry.runs[0]
    selection = run.selection
    read = selection.scored + selection.drops.get(NO_SCORE, 0)  # both were given to the filter
    return [
        _number(run.k, "{:,}"),
        _number(selection.distinct, "{:,}"),
        _number(selection.threshold, "{:.4g}"),
        _seconds(seconds),
        _number(read / seconds if seconds else None, "{:,.0f}"),
        _seconds(sum(trained.training.seconds for trained in run.downstream.values())),
        _memory(run),
    ]


def _memory(run: Result) -> PageCell:
    """Return the peak memory of a run's process, and below it that of its workers; sorted by the larger one."""
    process, workers = (size / 2**30 for size in (run.peak_rss_bytes, run.workers_peak_rss_bytes or 0))
    notes = (f"workers {workers:.2g} GiB",) if workers else ()
    return PageCell(f"{process:.2g} GiB", max(process, workers), notes) if process else PageCell(MISSING)


def seconds_text(seconds: float) -> str:
    """Return seconds as the page shows them."""
    return f"{seconds:,.0f} s" if seconds >= 9.95 else f"{seconds:.2g} s"


def _seconds(seconds: float | None) -> PageCell:
    return PageCell(seconds_text(seconds), seconds) if seconds else PageCell(MISSING)


def _number(value: float | None, form: str) -> PageCell:
    return PageCell(MISSING) if value is None else PageCell(form.format(value), float(value))
