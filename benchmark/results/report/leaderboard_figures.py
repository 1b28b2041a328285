"""Filters ranked by a headline metric, as bars."""

from benchmark.results.report.bar_charts import Bar, ranked_bars
from benchmark.results.report.certainty import Compared
from benchmark.results.report.leaderboard import REFERENCE
from benchmark.results.report.svg import BLUE, GREY, ORANGE, SKY


def headline_bars(compared: Compared) -> str:
    """Return ranked bars with the intervals of `Estimate.interval`."""
    bars = [_bar(compared, index) for index in range(len(compared.entries))]
    longest = max(bar.value + (bar.spread or 0.0) for bar in bars)
    reference = next((bar.value for bar in bars if bar.label == REFERENCE), None)
    return ranked_bars(bars, longest, reference, compared.headline.title)


def _bar(compared: Compared, index: int) -> Bar:
    entry, estimate = compared.entries[index], compared.comparison.estimates[index]
    spread = (estimate.interval[1] - estimate.interval[0]) / 2 if estimate.interval else None
    number = f"{estimate.mean:.1f}" if spread is None else f"{estimate.mean:.1f} ± {spread:.1f}"
    return Bar(entry.label, estimate.mean, number, _colour(compared, index), spread, entry.is_upper_bound)


def _colour(compared: Compared, index: int) -> str:
    """Return blue for a filter better than random, sky for one with too few seeds to tell, orange for the others."""
    labels = [entry.label for entry in compared.entries]
    if compared.entries[index].is_upper_bound:
        return "currentColor"
    if labels[index] == REFERENCE or REFERENCE not in labels:
        return GREY
    reference = labels.index(REFERENCE)
    if compared.comparison.better(index, reference):
        return BLUE
    return SKY if compared.comparison.above(index, reference) else ORANGE
