"""The filters of a leaderboard compared by a headline metric: how sure each comparison is."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from benchmark.results.report.leaderboard import REFERENCE, Entry, Measure
from benchmark.results.report.significance import Comparison, Estimate, Interval, compare
from benchmark.results.report.table import MISSING, Table, plain
from benchmark.results.result import Result
from benchmark.results.results_folders import damage_as_one_line
from downstream.metrics.corpus_scores import Doubles, count_names, score_of_sums
from downstream.metrics.intervals import IMAGE_SCORES, resampled_sums

if TYPE_CHECKING:
    import pyarrow as pa

KEYS = ["evaluation", "metric", "image"]
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
class ImageSums:
    """Sums of one metric, or of one of its counts, over the queries of n images.

    Args:
        images: ids as text, ascending, (n,).
        sums: the sum of each image's values, (n,).
        queries: queries per image, (n,).
    """

    images: pa.Array
    sums: Doubles
    queries: Doubles


ImageScores = Mapping[tuple[str, str], ImageSums]  # of a model of one run, by evaluation set and metric


def read_image_scores(folder: Path) -> ImageScores:
    """Read the scores of single images in the folder of a run's model; empty without any."""
    if not (path := folder / IMAGE_SCORES).is_file():
        return {}
    # Here: a report of runs without such scores needs no pyarrow.
    import pyarrow.compute as pc
    import pyarrow.parquet as pq

    with damage_as_one_line(path), pq.ParquetFile(path, page_checksum_verification=True) as file:
        table = file.read()  # pq.read_table would import pandas
    sums = table.group_by(KEYS, use_threads=False).aggregate([("value", "sum"), ("value", "count")])
    sums = sums.sort_by([(key, "ascending") for key in KEYS])
    scores = {}
    for pair in sums.group_by(KEYS[:2], use_threads=False).aggregate([]).to_pylist():
        evaluation, metric = pair["evaluation"], pair["metric"]
        part = sums.filter((pc.field("evaluation") == evaluation) & (pc.field("metric") == metric))
        values, queries = (part[name].to_numpy().astype(float) for name in ("value_sum", "value_count"))
        scores[evaluation, metric] = ImageSums(part["image"].combine_chunks(), values, queries)
    return scores


def resampled_values(metric: str, evaluation: str, runs: Sequence[ImageScores]) -> list[Doubles | None]:
    """Return the metric of each run on the same resampled images, (RESAMPLES,) each.

    None for a run that lacks scores of single images, or whose images differ from the first run that has them.
    """
    names = count_names(metric) or (metric,)
    sums = [[run[evaluation, n] for n in names if (evaluation, n) in run] for run in runs]
    complete = [of_run if len(of_run) == len(names) else [] for of_run in sums]
    images = next((of_run[0].images for of_run in complete if of_run), None)
    usable = [
        of_run if images is not None and all(of.images.equals(images) for of in of_run) else []
        for of_run in complete
    ]
    kept = [of_run for of_run in usable if of_run]
    if not kept:
        return [None] * len(runs)
    columns = [column for of_run in kept for column in (of_run[0].queries, *(of.sums for of in of_run))]
    resampled = iter(np.split(resampled_sums(np.stack(columns, axis=1)), len(kept), axis=1))
    return [_value(metric, names, next(resampled)) if of_run else None for of_run in usable]


def _value(metric: str, names: Sequence[str], resampled: Doubles) -> Doubles:
    """Return the metric from the resampled numbers of queries and sums, (RESAMPLES, 1 + len(names))."""
    queries, *sums = resampled.T
    if not count_names(metric):
        return np.asarray(sums[0] / queries, float)
    return score_of_sums(metric, dict(zip(names, sums, strict=True)))


@dataclass(frozen=True)
class RunFolders:
    """The folders of runs by their ids, with their scores of single images."""

    folders: Mapping[str, Path]
    _read: dict[tuple[str, str], ImageScores] = field(default_factory=dict, repr=False)

    def image_scores(self, run: Result, model: str) -> ImageScores:
        """Return the scores of single images that a model of the run left; empty without any."""
        key = run.run_id, model
        if key not in self._read:
            folder = self.folders.get(run.run_id)
            self._read[key] = read_image_scores(folder / model) if folder else {}
        return self._read[key]


@dataclass(frozen=True)
class Compared:
    """Entries that have a metric, compared by it; several sizes only if their images are the same."""

    measure: Measure
    entries: list[Entry]
    comparison: Comparison

    @property
    def competing(self) -> list[int]:
        """The indices of entries that compete: all but upper bounds."""
        return [index for index, entry in enumerate(self.entries) if not entry.is_upper_bound]

    def rank(self, index: int) -> str:
        """Return the range of ranks of an entry as text, with * if it says nothing of other seeds."""
        if self.entries[index].is_upper_bound:
            return MISSING
        low, high = self.comparison.ranks(index, self.competing)
        few = "*" * (self.comparison.estimates[index].over_seeds is None)
        return (str(low) if low == high else f"{low} to {high}") + few

    def best(self) -> Entry | None:
        """Return the entry that is better than all that compete, over images and seeds; None if none is sure."""
        for one in self.competing:
            if all(self.comparison.better(one, other) for other in self.competing if other != one):
                return self.entries[one] if len(self.competing) > 1 else None
        return None


def compare_entries(measure: Measure, entries: Sequence[Entry], folders: RunFolders) -> Compared:
    """Compare the entries that have the metric, on the images that their runs share."""
    having = [entry for entry in entries if measure.values(entry)]
    runs = [[run for run in entry.runs if measure.metrics([run])] for entry in having]
    scores = [folders.image_scores(run, measure.model) for of_entry in runs for run in of_entry]
    resampled = iter(resampled_values(measure.metric, measure.evaluation, scores))
    means = [_mean([next(resampled) for _ in of_entry]) for of_entry in runs]
    return Compared(measure, having, compare([measure.values(entry) for entry in having], means))


def _mean(resampled: Sequence[Doubles | None]) -> Doubles | None:
    """Return the mean over runs, times 100 as `Measure.values`; None if a run lacks scores of single images."""
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
    header = ["filter", compared.measure.label, "over images", "runs", "over seeds", "rank", "against random"]
    return Table(title, header, rows, list(NOTES))


def estimate_text(estimate: Estimate) -> str:
    """Return the mean with its interval over seeds, or, with a *, over images if there are too few seeds."""
    spread = f" ({_interval(estimate.interval)})" if estimate.interval else ""
    return f"{estimate.mean:.1f}{spread}{'*' * (estimate.over_seeds is None)}"


def _interval(interval: Interval | None) -> str:
    return MISSING if interval is None else f"{interval[0]:.1f} to {interval[1]:.1f}"
