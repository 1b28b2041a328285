"""Bootstrap intervals over evaluation images: how far a metric may be off because these images were drawn, no others.

An interval says nothing of other seeds of the training. Document frequencies of CIDEr stay those of the whole set.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np
import numpy.typing as npt

from downstream.metrics.metric import Metric

RESAMPLES, LEVEL, SEED = 1000, 0.95, 0
AT_ONCE = 50  # resamples in memory: 20 MB for 50,000 images
Doubles = npt.NDArray[np.float64]


def with_intervals(
    metrics: Sequence[Metric], columns: Mapping[str, Doubles], counts: Doubles
) -> list[Metric]:
    """Return the metrics, with 95% intervals for those that are a mean of a column, or BLEU of its counts.

    Args:
        metrics: metrics of n images.
        columns: by name, what a metric sums over images, each (n,); those of BLEU are named by `bleu_columns`.
        counts: what the sum of a column is divided by, per image: 1, or its number of queries; (n,).
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
    kind, _, order = metric.name.partition("-")
    if kind == "BLEU" and all(name in resampled for name in bleu_columns(int(order))):
        return replace(metric, interval=_percentiles(bleu_of_sums(resampled, int(order))))
    return metric


def resampled_sums(values: Doubles) -> Doubles:
    """Return the sums of m columns over resampled images, (RESAMPLES, m); `values` is (n, m)."""
    rng = np.random.default_rng(SEED)
    n = len(values)
    uniform = np.full(n, 1 / n)
    parts = [rng.multinomial(n, uniform, AT_ONCE) @ values for _ in range(RESAMPLES // AT_ONCE)]
    return np.concatenate(parts)


def _percentiles(resampled: Doubles) -> tuple[float, float]:
    low, high = np.quantile(resampled, [(1 - LEVEL) / 2, (1 + LEVEL) / 2])
    # Rounded, as the last bits of BERTScore differ between processes.
    return round(float(low), 6), round(float(high), 6)


def bleu_columns(order: int) -> list[str]:
    """Return the names of the counts that BLEU of n-grams up to `order` sums over images."""
    grams = [name for n in range(1, order + 1) for name in (f"BLEU_{n}-grams", f"BLEU_{n}-grams_matched")]
    return ["BLEU_length", "BLEU_reference_length", *grams]


def bleu_of_sums(sums: Mapping[str, Doubles], order: int) -> Doubles:
    """Return BLEU-`order` of summed counts, each (b,), with the constants of pycocoevalcap."""
    precisions = [
        (sums[f"BLEU_{n}-grams_matched"] + 1e-15) / (sums[f"BLEU_{n}-grams"] + 1e-9)
        for n in range(1, order + 1)
    ]
    ratio = (sums["BLEU_length"] + 1e-15) / (sums["BLEU_reference_length"] + 1e-9)
    brevity = np.exp(np.minimum(0.0, 1 - 1 / ratio))
    score: Doubles = np.prod(precisions, axis=0) ** (1 / order) * brevity
    return score
