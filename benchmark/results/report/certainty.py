"""The filters of a leaderboard compared by a headline metric: how sure each comparison is."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from benchmark.results.report.headlines import REFERENCE, Headline
from benchmark.results.report.image_samples import ImageScores, read_image_scores, resampled_values
from benchmark.results.report.leaderboard_entries import Entry
from benchmark.results.report.significance import Comparison, Estimate, Interval, compare
from benchmark.results.report.table import MISSING, Table, plain
from benchmark.results.result import Result
from downstream.metrics.corpus_scores import Doubles

RANKS = (
    "Rank: the range that significant differences leave among the filters that compete: paired tests over the same"
    " images with Holm's correction, and Welch's interval over seeds where both have three runs. Equal ranges are"
    " ties; a rank with * says nothing of other seeds."
)
NOTES = (
    "Over images: 95% bootstrap interval, had other evaluation images been drawn. Over seeds: 95% t-interval of the"
    " mean of three or more runs.",
    RANKS,
    "Better or worse than random: over images and over seeds.",
)


@dataclass(frozen=True)
class RunFolders:
    """The folders of runs, with what lies beside their results.

    Args:
        folders: by run id.
    """

    folders: Mapping[str, Path]
    _read: dict[tuple[str, str], ImageScores] = field(default_factory=dict, repr=False)

    def image_scores(self, run: Result, model: str) -> ImageScores:
        """Return the scores of single images that a model of the run left; empty where there are none."""
        key = run.run_id, model
        if key not in self._read:
            folder = self.folders.get(run.run_id)
            self._read[key] = read_image_scores(folder / model) if folder else {}
        return self._read[key]


@dataclass(frozen=True)
class Compared:
    """Entries that have a metric, compared by it; several sizes only where images are the same."""

    headline: Headline
    entries: list[Entry]
    comparison: Comparison

    @property
    def competing(self) -> list[int]:
        """The entries that are no upper bound."""
        return [index for index, entry in enumerate(self.entries) if not entry.is_upper_bound]

    def rank(self, index: int) -> str:
        """Return the range of ranks of an entry as text, with * where it says nothing of other seeds."""
        if self.entries[index].is_upper_bound:
            return MISSING
        low, high = self.comparison.ranks(index, self.competing)
        few = "*" * (self.comparison.estimates[index].over_seeds is None)
        return (str(low) if low == high else f"{low} to {high}") + few

    def best(self) -> Entry | None:
        """Return the entry that is better than all that compete, over images and seeds; None where none is sure."""
        for one in self.competing:
            if all(self.comparison.better(one, other) for other in self.competing if other != one):
                return self.entries[one] if len(self.competing) > 1 else None
        return None


def compare_entries(headline: Headline, entries: Sequence[Entry], folders: RunFolders) -> Compared:
    """Compare the entries that have the metric, on the images that their runs share."""
    having = [(entry, values) for entry in entries if (values := headline.values(entry))]
    runs = [
        (index, run)
        for index, (entry, _) in enumerate(having)
        for run in entry.runs
        if headline.value(run) is not None
    ]
    scores = [folders.image_scores(run, headline.model) for _, run in runs]
    of_runs: list[list[Doubles | None]] = [[] for _ in having]
    for (index, _), resampled in zip(
        runs, resampled_values(headline.metric, headline.evaluation, scores), strict=True
    ):
        of_runs[index].append(resampled)
    return Compared(
        headline,
        [entry for entry, _ in having],
        compare([values for _, values in having], [_mean(resampled) for resampled in of_runs]),
    )


def _mean(resampled: Sequence[Doubles | None]) -> Doubles | None:
    """Return the mean over runs, times 100 as `Headline.values`; None where a run has no scores of single images."""
    known = [values for values in resampled if values is not None]
    return 100 * np.mean(known, axis=0) if len(known) == len(resampled) else None


def certainty_table(title: str, compared: Compared) -> Table:
    """Return a row per entry, the best mean first: mean, both intervals, range of ranks, verdict against random."""
    comparison = compared.comparison
    labels = [entry.label for entry in compared.entries]
    reference = labels.index(REFERENCE) if REFERENCE in labels else None
    rows = []
    for index in sorted(range(len(labels)), key=lambda i: -comparison.estimates[i].mean):
        estimate = comparison.estimates[index]
        against = MISSING if reference in (None, index) else comparison.verdict(index, reference or 0)
        intervals = (_interval(estimate.over_images), _interval(estimate.over_seeds))
        cells = [labels[index], f"{estimate.mean:.1f}", intervals[0], str(estimate.runs), intervals[1]]
        rows.append(plain(*cells, compared.rank(index), against))
    header = ["filter", compared.headline.name, "over images", "runs", "over seeds", "rank", "against random"]
    return Table(title, header, rows, list(NOTES))


def estimate_text(estimate: Estimate) -> str:
    """Return the mean with its interval over seeds, or, with a *, over images where there are too few seeds."""
    spread = f" ({_interval(estimate.interval)})" if estimate.interval else ""
    return f"{estimate.mean:.1f}{spread}{'*' * (estimate.over_seeds is None)}"


def _interval(interval: Interval | None) -> str:
    return MISSING if interval is None else f"{interval[0]:.1f} to {interval[1]:.1f}"
