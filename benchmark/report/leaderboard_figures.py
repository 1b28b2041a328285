"""Filters ranked by a headline metric, as bars."""

import statistics
from collections.abc import Sequence

from benchmark.report.bar_charts import Bar, ranked_bars
from benchmark.report.headlines import REFERENCE, Headline
from benchmark.report.leaderboard_entries import Entry
from benchmark.report.svg import (
    BLUE,
    GREY,
    ORANGE,
)


def headline_bars(headline: Headline, entries: Sequence[Entry], all_sizes: Sequence[Entry]) -> str:
    """Return ranked bars of `entries`, on the scale of the entries of all sizes."""
    means = {e.label: statistics.fmean(v) for e in entries if (v := headline.values(e))}
    if not means:
        return ""
    reference = means.get(REFERENCE)
    bars = [_bar(e, headline.values(e), reference) for e in entries if e.label in means]
    others = [_bar(e, v, None) for e in all_sizes if (v := headline.values(e))]
    longest = max(bar.value + (bar.spread or 0.0) for bar in others)
    return ranked_bars(bars, longest, reference, headline.title)


def _bar(entry: Entry, values: Sequence[float], reference: float | None) -> Bar:
    mean = statistics.fmean(values)
    spread = statistics.stdev(values) if len(values) > 1 else None
    number = f"{mean:.1f}" if spread is None else f"{mean:.1f} ± {spread:.1f}"
    return Bar(entry.label, mean, number, _colour(entry, mean, reference), spread, entry.is_upper_bound)


def _colour(entry: Entry, mean: float, reference: float | None) -> str:
    if entry.is_upper_bound:
        return "currentColor"
    if entry.label == REFERENCE:
        return GREY
    return ORANGE if reference is not None and mean <= reference else BLUE
