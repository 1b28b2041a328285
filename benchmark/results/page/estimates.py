"""The values of a metric with their intervals, as tables and charts of the page show them, in the unit of tables."""

import statistics
from collections.abc import Sequence
from dataclasses import dataclass

from benchmark.results.report.certainty import Compared
from benchmark.results.report.columns import SHORT, heading, table_columns
from benchmark.results.report.leaderboard import Entry, Measure, evaluations, headlines

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
