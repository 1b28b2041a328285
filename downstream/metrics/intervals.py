"""Bootstrap intervals over evaluation images: how far a metric may be off because of the drawn images.

Of a classification set, classes are drawn, and then images of each: other classes would change the metric more than
other images of these. An interval says nothing of other seeds of the training. CIDEr keeps the document frequencies
of the whole set.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import lru_cache
from typing import Any

import numpy as np
import numpy.typing as npt

from downstream.metrics.corpus_scores import Doubles, count_names, score_of_sums
from downstream.metrics.metric import Metric

IMAGE_SCORES = "image_scores.parquet"  # the scores of single images, in the folder of a model's outputs
LABEL = "label"  # among them: the class of each image of a classification set
Labels = npt.NDArray[np.integer[Any]]
RESAMPLES, LEVEL, SEED = 1000, 0.95, 0
AT_ONCE = 50  # resamples in memory as float64: 20 MB for 50,000 images


def with_intervals(
    metrics: Sequence[Metric], columns: Mapping[str, Doubles], counts: Doubles, labels: Labels | None = None
) -> list[Metric]:
    """Return the metrics; means of a column, and metrics computed from sums of columns, get 95% intervals.

    Args:
        metrics: metrics of n images.
        columns: by name, the values that a metric sums over images, each (n,): its name, or its `count_names`.
        counts: divisor of the sum of a column, per image: 1, its number of queries, or its `class_weights`; (n,).
        labels: the class of each image, (n,), if classes are resampled too.
    """
    if not len(counts):
        return list(metrics)
    names = list(columns)
    sums = resampled_sums(np.stack([counts, *columns.values()], axis=1), labels)
    resampled = dict(zip(names, sums[:, 1:].T, strict=True))
    return [_with_interval(metric, resampled, sums[:, 0]) for metric in metrics]


def _with_interval(metric: Metric, resampled: Mapping[str, Doubles], counts: Doubles) -> Metric:
    if metric.value is None:
        return metric
    if metric.name in resampled:
        return replace(metric, interval=_percentiles(resampled[metric.name] / counts))
    summed = count_names(metric.name)
    if summed and all(name in resampled for name in summed):
        return replace(metric, interval=_percentiles(score_of_sums(metric.name, resampled)))
    return metric


def class_weights(labels: Labels) -> Doubles:
    """Return the weight of each image, (n,), so that all classes count alike; their mean is 1."""
    sizes = np.bincount(labels)
    return np.asarray(len(labels) / (np.count_nonzero(sizes) * sizes[labels]), float)


def resampled_sums(values: Doubles, labels: Labels | None = None) -> Doubles:
    """Return the sums of m columns over resampled images, (RESAMPLES, m); `values` is (n, m), `labels` (n,)."""
    draws = _draws(len(values), b"" if labels is None else np.asarray(labels, np.int64).tobytes())
    starts = range(0, RESAMPLES, AT_ONCE)
    return np.concatenate([draws[start : start + AT_ONCE].astype(np.float64) @ values for start in starts])


@lru_cache(maxsize=2)  # 100 MB for 50,000 images
def _draws(n: int, labels: bytes) -> npt.NDArray[np.unsignedinteger[Any]]:
    """Return how often each of n images is in each resample, (RESAMPLES, n): the same for all metrics of a set.

    Without `labels`, the bytes of n classes, images are drawn. Else as many classes as there are, and for every time
    that one is drawn as many of its images as it has.
    """
    rng = np.random.default_rng(SEED)
    classes, of_image = np.unique(np.frombuffer(labels or bytes(8 * n), np.int64), return_inverse=True)
    times = rng.multinomial(len(classes), np.full(len(classes), 1 / len(classes)), RESAMPLES)
    sizes = np.bincount(of_image)
    draws = np.empty((RESAMPLES, n), np.min_scalar_type(int(times.max() * sizes.max())))
    for number, size in enumerate(sizes):
        images, uniform = np.flatnonzero(of_image == number), np.full(size, 1 / size)
        for rows in (slice(start, start + AT_ONCE) for start in range(0, RESAMPLES, AT_ONCE)):
            draws[rows, images] = rng.multinomial(times[rows, number] * size, uniform)
    return draws


def _percentiles(resampled: Doubles) -> tuple[float, float]:
    low, high = np.quantile(resampled, [(1 - LEVEL) / 2, (1 + LEVEL) / 2])
    # Rounded, as the last bits of BERTScore differ between processes.
    return round(float(low), 6), round(float(high), 6)
