"""Bootstrap intervals over evaluation images: how far a metric may be off because of the drawn images.

An interval says nothing of other seeds of the training. CIDEr keeps the document frequencies of the whole set.
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
RESAMPLES, LEVEL, SEED = 1000, 0.95, 0
AT_ONCE = 50  # resamples in memory as float64: 20 MB for 50,000 images


def with_intervals(
    metrics: Sequence[Metric], columns: Mapping[str, Doubles], counts: Doubles
) -> list[Metric]:
    """Return the metrics; means of a column, and metrics computed from sums of columns, get 95% intervals.

    Args:
        metrics: metrics of n images.
        columns: by name, the values that a metric sums over images, each (n,): its name, or its `count_names`.
        counts: divisor of the sum of a column, per image: 1, or its number of queries; (n,).
    """
    if not len(counts):
        return list(metrics)
    names = list(columns)
    sums = resampled_sums(np.stack([counts, *columns.values()], axis=1))
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


def resampled_sums(values: Doubles) -> Doubles:
    """Return the sums of m columns over resampled images, (RESAMPLES, m); `values` is (n, m)."""
    draws = _draws(len(values))
    starts = range(0, RESAMPLES, AT_ONCE)
    return np.concatenate([draws[start : start + AT_ONCE].astype(np.float64) @ values for start in starts])


@lru_cache(maxsize=2)  # 100 MB for 50,000 images
def _draws(n: int) -> npt.NDArray[np.unsignedinteger[Any]]:
    """Return how often each of n images is in each resample, (RESAMPLES, n): the same for all metrics of a set."""
    rng = np.random.default_rng(SEED)
    uniform = np.full(n, 1 / n)
    holds_n = np.min_scalar_type(n)
    parts = [rng.multinomial(n, uniform, AT_ONCE).astype(holds_n) for _ in range(RESAMPLES // AT_ONCE)]
    return np.concatenate(parts)


def _percentiles(resampled: Doubles) -> tuple[float, float]:
    low, high = np.quantile(resampled, [(1 - LEVEL) / 2, (1 + LEVEL) / 2])
    # Rounded, as the last bits of BERTScore differ between processes.
    return round(float(low), 6), round(float(high), 6)
