"""The filters of a leaderboard compared by a headline metric: how sure each comparison is."""

import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

import numpy as np
import numpy.typing as npt

from benchmark.core.errors import UserError
from benchmark.results.report.columns import unit_of
from benchmark.results.report.leaderboard import REFERENCE, Entry, Measure
from benchmark.results.report.significance import Comparison, Interval, compare
from benchmark.results.report.table import MISSING, Cell, Table, plain
from benchmark.results.result import Result
from benchmark.results.results_folders import damage_as_one_line, read_or_leave_out
from downstream.metrics.corpus_scores import Doubles, count_names, score_of_sums
from downstream.metrics.intervals import IMAGE_SCORES, resampled_sums

MAX_ROWS = 5_000_000  # half a gigabyte of memory; DataComp's 38 evaluation sets have a million
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
        images: ids, ascending, (n,).
        sums: the sum of each image's values, (n,).
        queries: queries per image, (n,).
    """

    images: npt.NDArray[np.object_]
    sums: Doubles
    queries: Doubles


ImageScores = Mapping[tuple[str, str], ImageSums]  # of a model of one run, by evaluation set and metric


def read_image_scores(folder: Path) -> ImageScores:
    """Read the scores of single images in the folder of a run's model; empty without any."""
    if not (path := folder / IMAGE_SCORES).is_file():
        return {}
    # Here: a report of runs without such scores needs no pyarrow.
    import pyarrow.parquet as pq

    from benchmark.core.arrow import to_numpy

    with (
        damage_as_one_line(path),
        pq.ParquetFile(path, read_dictionary=KEYS, page_checksum_verification=True) as file,
    ):  # pq.read_table would import pandas
        if (rows := file.metadata.num_rows) > MAX_ROWS:
            raise UserError(f"{path} has {rows:,} rows; a report reads at most {MAX_ROWS:,} of a file")
        table = file.read().unify_dictionaries().combine_chunks()
    evaluations, metrics, images = (table[key].chunk(0) for key in KEYS)
    # Interned: all runs have the same ids.
    names = np.array([sys.intern(name) for name in images.dictionary.to_pylist()], object)
    order = np.argsort(names)  # images are put in the order of their ids
    place = np.empty(len(names), np.int64)
    place[order] = np.arange(len(names))
    group = to_numpy(evaluations.indices).astype(np.int64) * len(metrics.dictionary)
    group = (group + to_numpy(metrics.indices)) * len(names)
    cells, cell_of_row = np.unique(group + place[to_numpy(images.indices)], return_inverse=True)
    sums = np.bincount(cell_of_row, to_numpy(table["value"])).astype(float)
    queries = np.bincount(cell_of_row).astype(float)
    groups, image_of_cell = np.divmod(cells, len(names))
    borders = np.flatnonzero(np.diff(groups)) + 1
    scores, shared = {}, dict[bytes, tuple[npt.NDArray[np.object_], Doubles]]()
    for part in np.split(np.arange(len(cells)), borders):
        evaluation, metric = divmod(int(groups[part[0]]), len(metrics.dictionary))
        key = evaluations.dictionary[evaluation].as_py(), metrics.dictionary[metric].as_py()
        image, query = image_of_cell[part], queries[part]
        # Most metrics of a set have the same images and queries, which are kept once.
        same = shared.setdefault(image.tobytes() + query.tobytes(), (names[order[image]], query))
        scores[key] = ImageSums(same[0], sums[part], same[1])
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
        of_run if images is not None and all(np.array_equal(of.images, images) for of in of_run) else []
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
            self._read[key] = read_or_leave_out(read_image_scores, folder / model, {}) if folder else {}
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
        """The indices of entries that compete: all but upper bounds."""
        return [index for index, entry in enumerate(self.entries) if not entry.is_upper_bound]

    def rank(self, index: int) -> str:
        """Return the range of ranks of an entry among several as text, with * if it says nothing of other seeds."""
        if self.entries[index].is_upper_bound or len(self.competing) < 2:
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

    def estimate(self, index: int) -> str:
        """Return the mean with its interval over seeds, or, with a *, over images if there are too few seeds."""
        estimate = self.comparison.estimates[index]
        spread = f" ({self.interval(estimate.interval)})" if estimate.interval else ""
        return f"{self.measure.text(estimate.mean)}{spread}{'*' * (estimate.over_seeds is None)}"

    def cell(self, entry: Entry, *, brackets: bool = False) -> Cell:
        """Return an entry's mean with half of its interval over seeds, or as `estimate`; bold for `best`."""
        if entry not in self.entries:
            return Cell(MISSING)
        index = self.entries.index(entry)
        of_entry = self.comparison.estimates[index]
        text = self.estimate(index) if brackets else self.measure.text(of_entry.mean)
        if of_entry.over_seeds and not brackets:
            text += f" ± {self.measure.text((of_entry.over_seeds[1] - of_entry.over_seeds[0]) / 2)}"
        return Cell(text, entry is self.best())

    def interval(self, interval: Interval | None) -> str:
        """Return an interval as text."""
        return MISSING if interval is None else " to ".join(map(self.measure.text, interval))


def compare_entries(measure: Measure, entries: Sequence[Entry], folders: RunFolders) -> Compared:
    """Compare the entries that have the metric, on the images that their runs share."""
    having = [entry for entry in entries if measure.values(entry)]
    runs = [[run for run in entry.runs if measure.metrics([run])] for entry in having]
    scores = [folders.image_scores(run, measure.model) for of_entry in runs for run in of_entry]
    resampled = iter(resampled_values(measure.metric, measure.evaluation, scores))
    factor = unit_of(measure.unit).factor
    means = [_mean([next(resampled) for _ in of_entry], factor) for of_entry in runs]
    found = compare([measure.values(entry) for entry in having], means)
    if not measure.higher_is_better:
        found = replace(found, over_images=-found.over_images, over_seeds=-found.over_seeds)
    return Compared(measure, having, found)


def _mean(resampled: Sequence[Doubles | None], factor: float) -> Doubles | None:
    """Return the mean over runs, times `factor` as `Measure.values`; None if a run lacks scores of single images."""
    known = [values for values in resampled if values is not None]
    return factor * np.mean(known, axis=0) if len(known) == len(resampled) else None


def certainty_table(title: str, compared: Compared) -> Table:
    """Return a row per entry, the best mean first: mean, both intervals, range of ranks, verdict against random."""
    comparison = compared.comparison
    labels = [entry.label for entry in compared.entries]
    reference = labels.index(REFERENCE) if REFERENCE in labels else None
    rows = []
    for index in compared.ranking:
        estimate = comparison.estimates[index]
        against = MISSING if reference in (None, index) else comparison.verdict(index, reference or 0)
        images, seeds = map(compared.interval, (estimate.over_images, estimate.over_seeds))
        mean, rank = compared.measure.text(estimate.mean), compared.rank(index)
        rows.append(plain(labels[index], mean, images, str(estimate.runs), seeds, rank, against))
    header = ["filter", compared.measure.label, "over images", "runs", "over seeds", "rank", "against random"]
    return Table(title, header, rows, list(NOTES))
