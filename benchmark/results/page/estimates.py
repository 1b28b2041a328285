"""The values of a metric with their intervals, as tables and charts of the page show them, in the unit of tables."""

import statistics
from collections.abc import Sequence
from dataclasses import dataclass

from benchmark.results.report.columns import SHORT, heading, table_columns, unit_of
from benchmark.results.report.leaderboard import Entry, Measure, evaluations, headlines
from benchmark.results.report.significance import t_interval

LEGEND = (
    "An interval is, for one seed, the 95% bootstrap interval over evaluation images, which says nothing of other"
    " seeds; for three seeds or more, the 95% t-interval of their mean. Scoring is in processor seconds, or where no"
    " result has them in seconds on the clock, summed over workers. Upper bounds read the planted grades and do not"
    " compete."
)


@dataclass(frozen=True)
class Value:
    """A value and the ends of its interval, None without one; `text` and `note` are both in words."""

    value: float
    low: float | None
    high: float | None
    text: str
    note: str


def value_of(entry: Entry, measure: Measure) -> Value | None:
    """Return the metric of an entry over its seeds; None if no run has it."""
    metrics = measure.metrics(entry.runs)
    values = [metric.value for metric in metrics if metric.value is not None]
    if not values:
        return None
    unit = unit_of(measure.unit)
    value = unit.factor * statistics.fmean(values)
    text = unit.text(value)
    interval = metrics[0].interval if len(values) == 1 else t_interval(values)
    if interval is None:
        return Value(value, None, None, text, "")
    low, high = (unit.factor * bound for bound in interval)
    return Value(value, low, high, text, f"{unit.text(low)} to {unit.text(high)}")


def all_measures(entries: Sequence[Entry]) -> list[Measure]:
    """Return the headline measures, then every other metric of the tables that some entry has."""
    first, runs = headlines(entries), [run for entry in entries for run in entry.runs]
    others = [
        Measure.of(model, evaluation, m, name.replace("_", " ") if name in SHORT else heading(m))
        for model, evaluation in evaluations(entries)
        for columns in table_columns(m for r in runs for m in r.metrics(model, evaluation)).values()
        for name, m in columns.items()
    ]
    return first + [m for m in others if m not in first and any(value_of(entry, m) for entry in entries)]


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
    values = {e.label: measure.signed(value.value) for e in entries if (value := value_of(e, measure))}
    return sorted(entries, key=lambda entry: -values.get(entry.label, float("-inf")))
