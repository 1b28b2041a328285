"""A metric of a filter with its uncertainty: what tables and charts of the page show, in the unit of tables."""

import statistics
from collections.abc import Sequence
from dataclasses import dataclass

from benchmark.results.report.columns import COLUMNS, UNITS
from benchmark.results.report.leaderboard import Entry, evaluations, headlines
from benchmark.results.report.significance import t_interval

LEGEND = (
    "An interval is, for one seed, the 95% bootstrap interval over evaluation images, which says nothing of other"
    " seeds; for three seeds or more, the 95% t-interval of their mean. Scoring is in processor seconds, or where no"
    " result has them in seconds on the clock, summed over workers. Upper bounds read the planted grades and do not"
    " compete."
)


@dataclass(frozen=True)
class Measure:
    """A metric of a downstream model on an evaluation set; `label` is the metric's name for readers."""

    model: str
    evaluation: str
    metric: str
    label: str

    @property
    def title(self) -> str:
        """The name that tells it from every other measure."""
        return f"{self.label}, {self.evaluation} ({self.model.replace('_', ' ')})"


@dataclass(frozen=True)
class Estimate:
    """A value and the ends of its interval, None where it has none; `text` and `note` are both in words."""

    value: float
    low: float | None
    high: float | None
    text: str
    note: str


def estimate(entry: Entry, measure: Measure) -> Estimate | None:
    """Return the metric of an entry over its seeds; None where no run has it."""
    trained = [run.downstream[measure.model] for run in entry.runs if measure.model in run.downstream]
    evaluated = [metric for model in trained for metric in model.evaluations.get(measure.evaluation, [])]
    metrics = [metric for metric in evaluated if metric.name == measure.metric and metric.value is not None]
    values = [metric.value for metric in metrics if metric.value is not None]
    if not values:
        return None
    factor, digits = UNITS.get(measure.metric, (100.0, 1))
    value = factor * statistics.fmean(values)
    text = f"{value:.{digits}f}"
    interval = metrics[0].interval if len(values) == 1 else t_interval(values)
    if interval is None:
        return Estimate(value, None, None, text, "")
    low, high = (factor * bound for bound in interval)
    return Estimate(value, low, high, text, f"{low:.{digits}f} to {high:.{digits}f}")


def headline_measures(entries: Sequence[Entry]) -> list[Measure]:
    """Return the metrics that the papers compare filters by, of those that some entry has."""
    return [Measure(h.model, h.evaluation, h.metric, h.name) for h in headlines(entries)]


def all_measures(entries: Sequence[Entry]) -> list[Measure]:
    """Return the headline measures, then every other metric of the tables that some entry has."""
    first = headline_measures(entries)
    seen = {(m.model, m.evaluation, m.metric) for m in first}
    others = [
        Measure(model, evaluation, metric, metric.replace("_", " "))
        for model, evaluation in evaluations(entries)
        for columns in COLUMNS.values()
        for metric in columns
        if (model, evaluation, metric) not in seen
    ]
    return [*first, *(m for m in others if any(estimate(entry, m) for entry in entries))]


def chart_measures(entries: Sequence[Entry]) -> list[Measure]:
    """Return the metrics that charts offer: all of those models and evaluation sets that a headline metric is of."""
    headline = {(m.model, m.evaluation) for m in headline_measures(entries)}
    return [m for m in all_measures(entries) if (m.model, m.evaluation) in headline]


def ranked(entries: Sequence[Entry], measure: Measure) -> list[Entry]:
    """Return the entries, highest value first, those without the metric last."""
    values = {entry.label: found.value for entry in entries if (found := estimate(entry, measure))}
    return sorted(entries, key=lambda entry: -values.get(entry.label, float("-inf")))
