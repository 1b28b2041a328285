"""The filters of a leaderboard compared by a headline metric: how sure each comparison is."""

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property, partial
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np

from benchmark.results.protocol import size_text
from benchmark.results.report.frame import Measure, unit_of
from benchmark.results.report.leaderboard import Entry
from benchmark.results.report.significance import OVER_IMAGES, OVER_SEEDS, Comparison, Estimate, compare
from benchmark.results.report.table import MISSING, Cell
from benchmark.results.result import Result
from benchmark.results.results_folders import read_or_leave_out
from downstream.metrics.corpus_scores import Doubles, count_names, score_of_sums
from downstream.metrics.intervals import IMAGE_SCORES, LABEL, class_weights

KEYS = ["evaluation", "metric", "image"]
NOISES = {
    "": "95% intervals include the noise of seeds and of evaluation images. The noise of seeds is pooled over rows"
    " with several seeds and a similar error over images; rows with one seed use it too.",
    OVER_IMAGES: "Training noise unknown: no comparable filter has two seeds (seed=0,1) at this size. Intervals, if"
    " any, are over evaluation images only, and the filter is called neither better nor worse.",
    OVER_SEEDS: "Noise of evaluation images unknown: the metric, or the results, have no scores of single images. The"
    " intervals are over seeds only, and no filter is called better.",
}
BETTER = "'Better' means p ≤ .05, with the noise of seeds and images, corrected (Tukey's range test) for"
RANKS = "Rank: the range that the filters called better leave, among the filters that compete. Equal ranges are ties."


@dataclass(frozen=True)
class ImageSums:
    """Sums of one metric, or of one of its counts, over the queries of n images."""

    images: Any  # ids as an array of pyarrow, ascending, (n,)
    sums: Doubles  # the sum of each image's values, (n,)
    queries: Doubles  # queries per image, (n,)


ImageScores = Mapping[tuple[str, str], ImageSums]  # of a model of one run, by evaluation set and metric


def read_image_scores(folder: Path, only: Measure | None = None) -> ImageScores:
    """Read the scores of single images in the folder of a run's model, or of one measure; empty without any."""
    if not (path := folder / IMAGE_SCORES).is_file():
        return {}
    # Here: a report of runs without such scores needs no pyarrow. pq.read_table, group_by and others import pandas.
    import pyarrow.parquet as pq

    from benchmark.core.arrow import from_numpy, to_numpy

    with pq.ParquetFile(path, page_checksum_verification=True, read_dictionary=KEYS) as file:
        table = file.read(use_threads=False).combine_chunks()
    scores: dict[tuple[str, str], ImageSums] = {}
    if not len(table):
        return scores
    columns = [table[key].chunk(0) for key in KEYS]
    of_set, of_metric, image = (to_numpy(column.indices) for column in columns)
    sets, metrics, images = (column.dictionary.to_pylist() for column in columns)
    values, by_name = to_numpy(table["value"].chunk(0)).astype(float), np.argsort(images)
    rank = np.argsort(by_name)[image]
    wanted = (*(count_names(only.metric) or [only.metric]), LABEL) if only else metrics
    for (s, evaluation), (m, metric) in product(enumerate(sets), enumerate(metrics)):
        rows = (of_set == s) & (of_metric == m)
        if metric not in wanted or (only and evaluation != only.evaluation) or not rows.any():
            continue
        present, inverse, queries = np.unique(rank[rows], return_inverse=True, return_counts=True)
        sums = np.bincount(inverse, values[rows]).astype(float)
        ids = columns[2].dictionary.take(from_numpy(by_name[present]))
        scores[evaluation, metric] = ImageSums(ids, sums, queries.astype(float))
        if metric == LABEL and not np.isin(sums, np.arange(len(sums))).all():
            raise ValueError("the class of an image must be a number below the number of images")
    return scores


def parts_of_images(metric: str, evaluation: str, runs: Sequence[ImageScores]) -> list[Doubles | None]:
    """Return what each image adds to the metric of each run, (images,): jackknife (Efron and Stein 1981).

    In a classification set a class with all of its images takes the place of an image, (classes,). None for a run
    without scores of single images, or with other images than the first run that has them.
    """
    names = count_names(metric) or (metric,)
    sums = [[run[evaluation, n] for n in names if (evaluation, n) in run] for run in runs]
    complete = [of_run if len(of_run) == len(names) else [] for of_run in sums]
    images = next((of_run[0].images for of_run in complete if of_run), None)
    labels = next((run[evaluation, LABEL] for run in runs if (evaluation, LABEL) in run), None)
    classes = labels.sums.astype(int) if labels and labels.images.equals(images) else None
    parts: list[Doubles | None] = []
    for of_run in complete:
        if not of_run or not all(of.images.equals(images) for of in of_run):
            parts.append(None)
            continue
        divisor = of_run[0].queries
        if classes is not None and not np.isin(of_run[0].sums, (0, 1)).all():
            divisor = class_weights(classes)  # hits are weighted by class
        columns = np.stack([divisor, *(of.sums for of in of_run)], axis=1)
        if classes is not None:
            of_class = np.zeros((classes.max() + 1, columns.shape[1]))
            np.add.at(of_class, classes, columns)
            columns = of_class[np.unique(classes)]
        queries, *left = (columns.sum(axis=0) - columns).T  # without each image
        by_name = dict(zip(names, left, strict=True))
        without = score_of_sums(metric, by_name) if count_names(metric) else left[0] / queries
        parts.append((len(columns) - 1) * (without.mean() - without))
    return parts


@dataclass(frozen=True)
class RunFolders:
    """The folders of runs by their ids, with their scores of single images."""

    folders: Mapping[str, Path]
    comparisons: dict[Hashable, Comparison] = field(default_factory=dict, repr=False)  # made already
    only: Measure | None = None  # the one measure that is compared, so that no other scores are read
    _read: dict[tuple[str, str], ImageScores] = field(default_factory=dict, repr=False)

    def image_scores(self, run: Result, model: str) -> ImageScores:
        """Return the scores of single images that a model of the run left; empty without any."""
        key = run.run_id, model
        if key not in self._read:
            folder, read = self.folders.get(run.run_id), partial(read_image_scores, only=self.only)
            self._read[key] = read_or_leave_out(read, folder / model, {}) if folder else {}
        return self._read[key]


@dataclass(frozen=True)
class Compared:
    """Entries that have a metric, compared by it; several sizes only if their images are the same."""

    measure: Measure
    entries: list[Entry]
    comparison: Comparison

    @property
    def ranking(self) -> list[int]:
        """The indices of all entries, the best mean first."""
        means = [self.measure.signed(estimate.mean) for estimate in self.comparison.estimates]
        return sorted(range(len(means)), key=lambda index: -means[index])

    @property
    def competing(self) -> list[int]:
        """The indices of entries that compete."""
        return [index for index, entry in enumerate(self.entries) if entry.competes]

    @property
    def heading(self) -> str:
        """The name of a column of `text`; if all intervals lack one noise, with the other noise."""
        (noise,) = self.noises if len(self.noises) == 1 else [""]
        return self.measure.label + (f" ({noise})" if noise else "")

    @property
    def noises(self) -> list[str]:
        """The only noise in each interval, see `Estimate`; empty if both are in it."""
        return list(dict.fromkeys(e.noise for e in self.comparison.estimates if e.interval))

    def index(self, name: str, size: int | None = None) -> int | None:
        """Return the index of the entry of the filter with this label, None without one."""
        named = (name in {entry.label, *entry.same} and size in {None, entry.size} for entry in self.entries)
        return next((index for index, is_named in enumerate(named) if is_named), None)

    def rank(self, index: int) -> str:
        """Return the range of ranks of an entry among several as text."""
        if index not in self.competing or len(self.competing) < 2 or not self.comparison.pairs:
            return MISSING
        low, high = self.comparison.ranks(index, self.competing)
        return str(low) if low == high else f"{low} to {high}"

    @cached_property
    def not_worse(self) -> list[Entry]:
        """The competing entries that are not shown to be worse than their best mean, with the best first."""
        ranked = [index for index in self.ranking if index in self.competing]
        not_worse = self.comparison.not_worse(ranked[0]) if ranked else set()
        return [self.entries[index] for index in ranked if index in not_worse]

    @cached_property
    def best(self) -> Entry | None:
        """The entry that is better than all that compete; None without such an entry."""
        for one in self.competing:
            if all(self.comparison.better(one, other) for other in self.competing if other != one):
                return self.entries[one] if len(self.competing) > 1 else None
        return None

    def position(self, entry: Entry) -> int | None:
        """Return the index of an entry, None without the metric."""
        return next((index for index, other in enumerate(self.entries) if other is entry), None)

    def estimate(self, entry: Entry) -> Estimate | None:
        """Return the estimate of an entry, None without the metric."""
        index = self.position(entry)
        return None if index is None else self.comparison.estimates[index]

    def cell(self, entry: Entry) -> Cell:
        """Return the mean of an entry with its interval, bold for `best`."""
        estimate = self.estimate(entry)
        if estimate is None:
            return Cell(MISSING)
        mean, ends, strip = self.measure.text(estimate.mean), "", tuple[float, ...]()
        if estimate.interval:
            ends = " to ".join(map(self.measure.text, estimate.interval))
            ends += f" {estimate.noise}" * (len(self.noises) > 1 and bool(estimate.noise))
            low, high = self._scale
            points = (estimate.interval[0], estimate.mean, estimate.interval[1])
            strip = tuple(round(100 * (point - low) / ((high - low) or 1.0), 1) for point in points)
        return Cell(mean, entry is self.best, ends, self.measure.signed(estimate.mean), strip)

    @cached_property
    def _scale(self) -> tuple[float, float]:
        """The lowest and the highest end of all intervals."""
        ends = [end for e in self.comparison.estimates for end in (e.mean, *(e.interval or ()))]
        return min(ends), max(ends)


def compare_entries(measure: Measure, entries: Sequence[Entry], folders: RunFolders) -> Compared:
    """Compare the entries that have the metric, on the images that their runs share."""
    having = sorted((e for e in entries if measure.values(e)), key=lambda e: (e.size, e.label))
    runs = [[run for run in entry.runs if measure.values(run)] for entry in having]
    key = measure, tuple(tuple(run.run_id for run in of_entry) for of_entry in runs)
    if key not in folders.comparisons:
        factor = unit_of(measure.unit).factor  # as in `Measure.values`
        scores = [folders.image_scores(run, measure.model) for of_entry in runs for run in of_entry]
        parts = iter(parts_of_images(measure.metric, measure.evaluation, scores))
        of_images: list[Doubles | None] = []
        for of_entry in runs:
            known = [factor * part for _ in of_entry if (part := next(parts)) is not None]
            of_images.append(np.stack(known) if len(known) == len(of_entry) else None)
        values, higher = [measure.values(entry) for entry in having], measure.higher_is_better
        folders.comparisons[key] = compare(values, of_images, higher_is_better=higher, limits=measure.limits)
    return Compared(measure, having, folders.comparisons[key])


def certainty_notes(compared: Sequence[Compared]) -> list[str]:
    """Return what the intervals are, and which comparisons the p values are corrected for."""
    families: dict[str, dict[str, None]] = {}
    for of in compared:
        sizes = " and ".join(size_text(size) for size in sorted({entry.size for entry in of.entries}))
        pairs = of.comparison.pairs
        family = f"all {pairs} pairs" if pairs > 1 else "the one pair"
        family += f" of {len(of.entries)} filters at {sizes}"
        if pairs:
            families.setdefault(family, {})[f"{of.measure.label} on {of.measure.evaluation}"] = None
    noises = dict.fromkeys(noise for of in compared if of.entries for noise in of.noises or [OVER_IMAGES])
    better = [f"{BETTER} {family}, by {', by '.join(names)}." for family, names in families.items()]
    return [NOISES[noise] for noise in noises] + better
