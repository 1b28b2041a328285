"""Headline metrics, and filters ranked by one of them as bars."""

import statistics
from collections.abc import Sequence
from dataclasses import dataclass

from benchmark.report.bar_charts import Bar, ranked_bars
from benchmark.report.leaderboard_entries import Entry
from benchmark.report.svg import (
    BLUE,
    GREY,
    ORANGE,
)

# Downstream model, metric, its name: the metrics that the papers compare filters by, all of them shares.
HEADLINES = (
    ("captioner", "CIDEr", "CIDEr"),
    ("dual_encoder", "text_to_image_R@1", "text-to-image R@1 (%)"),
    ("dual_encoder", "zero_shot", "zero-shot (%)"),
)
REFERENCE = "random"  # the filter that the others have to beat


@dataclass(frozen=True)
class Headline:
    """A metric of a downstream model on one evaluation set, which filters are compared by."""

    model: str
    metric: str
    evaluation: str
    name: str

    @property
    def title(self) -> str:
        """The title of its chart."""
        return f"{self.model} on {self.evaluation}: {self.name}"

    def values(self, entry: Entry) -> list[float]:
        """Return the metric, times 100, of those runs of an entry that have it."""
        trained = [run.downstream[self.model] for run in entry.runs if self.model in run.downstream]
        metrics = [metric for model in trained for metric in model.evaluations.get(self.evaluation, [])]
        return [100 * m.value for m in metrics if m.name == self.metric and m.value is not None]


def headlines(entries: Sequence[Entry]) -> list[Headline]:
    """Return the metrics of `HEADLINES` that some entry has, on COCO if possible."""
    available = []
    for model, metric, name in HEADLINES:
        trained = [run.downstream[model] for e in entries for run in e.runs if model in run.downstream]
        sets = {evaluation for result in trained for evaluation in result.evaluations}
        for evaluation in sorted(sets, key=lambda s: (s != "coco", s)):
            headline = Headline(model, metric, evaluation, name)
            if any(headline.values(entry) for entry in entries):
                available.append(headline)
                break
    return available


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
