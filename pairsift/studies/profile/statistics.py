"""Statistics of a group of samples: Table 1, the means of section 5.1 and Table 9, the relative scores of Figure 4.

Tables, sections and figures are in Lin et al. 2023.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import scipy  # `scipy.stats` is imported when it is used

from pairsift.studies.profile.measurements import Measurements

Floats = npt.NDArray[np.float32]
Integers = npt.NDArray[np.int64]
ALL, TEXT, NO_TEXT = "all", "text", "no_text"
# The measurement and the images of each mean.
MEANS = {
    "cotr": ("cotr", ALL),
    "cotr_text": ("cotr", TEXT),
    "fuzzy": ("fuzzy", ALL),
    "fuzzy_text": ("fuzzy", TEXT),
    "clip": ("clip", ALL),
    "clip_all_removed": ("all_removed", ALL),
    "clip_co_removed": ("co_removed", ALL),
    "clip_no_text": ("clip", NO_TEXT),
    "clip_text": ("clip", TEXT),
    "clip_text_all_removed": ("all_removed", TEXT),
    "clip_text_co_removed": ("co_removed", TEXT),
    "clip_text_random_all": ("random_all", TEXT),
    "clip_text_random_co": ("random_co", TEXT),
    "rsa": ("rsa", TEXT),
    "rsc": ("rsc", TEXT),
    "co_over_all": ("co_over_all", TEXT),
    "random_rsa": ("random_rsa", TEXT),
    "random_rsc": ("random_rsc", TEXT),
}
# Differences of two cosines of one caption (section 3; Figure 4, right).
RELATIVE = {
    "rsa": ("clip", "all_removed"),
    "rsc": ("clip", "co_removed"),
    "co_over_all": ("co_removed", "all_removed"),
    "random_rsa": ("clip", "random_all"),
    "random_rsc": ("clip", "random_co"),
}
BIN = 0.02  # width of a bin of the relative scores
Z = 1.959963984540054  # 97.5th percentile of the normal distribution
RESAMPLES = 1000
FEWEST = 5  # values; with fewer the bootstrap interval is far too narrow
# With more values the mean is nearly normal, and resampling would only cost time.
NORMAL = 2_000
CELLS = 2_000_000  # numbers that the bootstrap holds in memory


@dataclass(frozen=True)
class Estimate:
    """A fraction or mean of `count` samples with its 95% interval; `reason` says why a number is None."""

    value: float | None
    low: float | None
    high: float | None
    count: int
    reason: str | None = None


@dataclass(frozen=True)
class Group:
    """Estimates over a group of samples."""

    images: int
    with_text: int  # samples whose image has text
    parrots: int  # samples among them whose caption repeats some of it (CoTR > 0)
    text: Estimate  # fraction of images with text
    parrot: Estimate  # fraction of parrot captions among images with text
    means: dict[str, Estimate]


@dataclass(frozen=True)
class Histogram:
    """Number of images per bin of a relative score: `edges` has shape (b + 1,), `counts` (b,)."""

    edges: list[float]
    counts: list[int]


def summarise(measured: Measurements, seed: int) -> Group:
    """Return all estimates over n samples; `seed` is the random seed of the bootstrap."""
    populations = {ALL: np.ones(len(measured), bool), TEXT: measured.text, NO_TEXT: ~measured.text}
    with_text = int(measured.text.sum())
    parrots = int(measured.parrot.sum())
    means = {
        name: mean(column(measured, values)[populations[images]], seed)
        for name, (values, images) in MEANS.items()
    }
    return Group(
        images=len(measured),
        with_text=with_text,
        parrots=parrots,
        text=fraction(with_text, len(measured)),
        parrot=fraction(parrots, with_text),
        means=means,
    )


def column(measured: Measurements, name: str) -> Floats:
    """Return one measurement, or the difference of two, shape (n,)."""
    if name in RELATIVE:
        before, after = RELATIVE[name]
        return np.asarray(getattr(measured, before) - getattr(measured, after), np.float32)
    return np.asarray(getattr(measured, name), np.float32)


def by_cluster(measured: Measurements, clusters: Integers, seed: int) -> list[tuple[int, Group]]:
    """Return (cluster, estimates) for each cluster that has images, the largest fraction of images with text first.

    `clusters` has the cluster of each sample, shape (n,); `seed` is the random seed of the bootstrap.
    """
    groups = [(int(number), summarise(measured[clusters == number], seed)) for number in np.unique(clusters)]
    return sorted(groups, key=lambda pair: (-pair[1].with_text / pair[1].images, pair[0]))


def histograms(measured: Measurements) -> dict[str, Histogram]:
    """Return the distribution, in bins `BIN` wide, of each relative score that the removal of text changed."""
    columns = {name: column(measured, name)[measured.text] for name in RELATIVE}
    columns = {name: values[values != 0] for name, values in columns.items()}
    # The middle of a bin is a multiple of its width, so that values close to 0 share one bin.
    bins = {name: np.round(values / BIN).astype(np.int64) for name, values in columns.items()}
    low = min((int(of_name.min()) for of_name in bins.values() if len(of_name)), default=0)
    high = max((int(of_name.max()) for of_name in bins.values() if len(of_name)), default=0)
    edges = [round((index - 0.5) * BIN, 6) for index in range(low, high + 2)]
    counts = {name: np.bincount(of_name - low, minlength=high - low + 1) for name, of_name in bins.items()}
    return {name: Histogram(edges, [int(count) for count in row]) for name, row in counts.items()}


def parrot_fractions(groups: Sequence[Group]) -> list[tuple[float, float, float]]:
    """Return per group the fractions of images without text, with text not repeated, and with parrot captions."""
    return [
        (1 - g.with_text / g.images, (g.with_text - g.parrots) / g.images, g.parrots / g.images)
        for g in groups
    ]


def fraction(hits: int, count: int) -> Estimate:
    """Return hits / count with the score interval of Wilson (1927)."""
    if not count:
        return Estimate(None, None, None, 0, "no such image")
    interval = scipy.stats.binomtest(hits, count).proportion_ci(method="wilson")
    return _estimate(hits / count, interval.low, interval.high, count)


def mean(values: Floats, seed: int) -> Estimate:
    """Return the mean of n finite values, shape (n,), with its interval.

    The interval is the percentile bootstrap of `RESAMPLES` resamples, drawn with the random seed `seed`; with more
    than `NORMAL` values it is that of the normal distribution.
    """
    exact = values.astype(np.float64)
    count = len(exact)
    if not count:
        return Estimate(None, None, None, 0, "no such image")
    centre = float(exact.mean())
    if count < FEWEST:
        return Estimate(_rounded(centre), None, None, count, f"{count} images; an interval needs {FEWEST}")
    if count > NORMAL:
        half = Z * float(exact.std(ddof=1)) / np.sqrt(count)
        return _estimate(centre, centre - half, centre + half, count)
    interval = scipy.stats.bootstrap(
        (exact,),
        np.mean,
        n_resamples=RESAMPLES,
        batch=CELLS // count,
        method="percentile",
        rng=np.random.default_rng(seed),
    ).confidence_interval
    return _estimate(centre, interval.low, interval.high, count)


def _estimate(value: float, low: float, high: float, count: int) -> Estimate:
    return Estimate(_rounded(value), _rounded(low), _rounded(high), count)


def _rounded(value: float) -> float:
    return round(float(value), 6)
