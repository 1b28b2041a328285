"""Metrics of several runs on the same evaluation images, resampled together."""

import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt

from benchmark.results.results_folders import damage_as_one_line
from downstream.evaluation.image_scores import FILE
from downstream.metrics.corpus_scores import Doubles, count_names, score_of_sums
from downstream.metrics.intervals import resampled_sums


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


KEYS = ["evaluation", "metric", "image"]
ImageScores = Mapping[tuple[str, str], ImageSums]  # of a model of one run, by evaluation set and metric


def read_image_scores(folder: Path) -> ImageScores:
    """Read the scores of single images in the folder of a run's model; empty where there are none."""
    if not (path := folder / FILE).is_file():
        return {}
    # Here: a report of runs without such scores needs no pyarrow.
    import pyarrow.parquet as pq

    from benchmark.core.arrow import to_numpy

    with (
        damage_as_one_line(path),
        pq.ParquetFile(path, read_dictionary=KEYS, page_checksum_verification=True) as file,
    ):  # pq.read_table would import pandas
        table = file.read().unify_dictionaries().combine_chunks()
    evaluations, metrics, images = (table[key].chunk(0) for key in KEYS)
    # Interned: all runs have the same ids.
    names = np.array([sys.intern(name) for name in images.dictionary.to_pylist()], object)
    order = np.argsort(names)  # images are put in the order of their ids
    place = np.empty(len(names), np.int64)
    place[order] = np.arange(len(names))
    group = to_numpy(evaluations.indices).astype(np.int64) * len(metrics.dictionary) + to_numpy(
        metrics.indices
    )
    cells, cell_of_row = np.unique(group * len(names) + place[to_numpy(images.indices)], return_inverse=True)
    sums = np.bincount(cell_of_row, to_numpy(table["value"])).astype(float)
    queries = np.bincount(cell_of_row).astype(float)
    groups, image_of_cell = np.divmod(cells, len(names))
    borders = np.flatnonzero(np.diff(groups)) + 1
    found, shared = {}, dict[bytes, tuple[npt.NDArray[np.object_], Doubles]]()
    for part in np.split(np.arange(len(cells)), borders):
        evaluation, metric = divmod(int(groups[part[0]]), len(metrics.dictionary))
        key = evaluations.dictionary[evaluation].as_py(), metrics.dictionary[metric].as_py()
        image, query = image_of_cell[part], queries[part]
        # Most metrics of a set have the same images and queries, which are kept once.
        same = shared.setdefault(image.tobytes() + query.tobytes(), (names[order[image]], query))
        found[key] = ImageSums(same[0], sums[part], same[1])
    return found


def resampled_values(metric: str, evaluation: str, runs: Sequence[ImageScores]) -> list[Doubles | None]:
    """Return the metric of each run on the same resampled images, (RESAMPLES,) each.

    None for a run that lacks scores of single images, or whose images are not those of the first run that has them.
    """
    names = count_names(metric) or (metric,)
    found = [[run.get((evaluation, name)) for name in names] for run in runs]
    complete = [[of for of in sums if of is not None] for sums in found]
    usable = [len(sums) == len(names) for sums in complete]
    first = next((sums[0].images for sums, whole in zip(complete, usable, strict=True) if whole), None)
    usable = [
        whole and first is not None and all(np.array_equal(of.images, first) for of in sums)
        for sums, whole in zip(complete, usable, strict=True)
    ]
    kept = [sums for sums, use in zip(complete, usable, strict=True) if use]
    if not kept:
        return [None] * len(runs)
    columns = [column for sums in kept for column in (sums[0].queries, *(of.sums for of in sums))]
    resampled = iter(np.split(resampled_sums(np.stack(columns, axis=1)), len(kept), axis=1))
    return [_value(metric, names, next(resampled)) if use else None for use in usable]


def _value(metric: str, names: Sequence[str], resampled: Doubles) -> Doubles:
    """Return the metric from the resampled numbers of queries and sums, (RESAMPLES, 1 + len(names))."""
    queries, *sums = resampled.T
    if not count_names(metric):
        return np.asarray(sums[0] / queries, float)
    return score_of_sums(metric, dict(zip(names, sums, strict=True)))
