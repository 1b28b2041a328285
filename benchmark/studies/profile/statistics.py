"""Table 1, the means of section 5.1 and Table 9, and the relative scores of Figure 4, of any group of samples."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from benchmark.studies.profile.intervals import Estimate, mean, share
from benchmark.studies.profile.measurements import Measurements

Floats = npt.NDArray[np.float32]
Integers = npt.NDArray[np.int64]
ALL, TEXT, NO_TEXT = "all", "text", "no_text"
# Each mean: what is averaged, over which images.
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


@dataclass(frozen=True)
class Group:
    """Some of the samples: how many, and what was estimated of them.

    `text`: share of images with text. `parrot`: share of captions with CoTR > 0 among images with text. `means`: by
    the names of `MEANS`.
    """

    images: int
    with_text: int
    parrots: int
    text: Estimate
    parrot: Estimate
    means: dict[str, Estimate]


@dataclass(frozen=True)
class Histogram:
    """How many images have a relative score in each bin; `edges` are one more than `counts`."""

    edges: list[float]
    counts: list[int]


def summarise(measured: Measurements, seed: int) -> Group:
    """Estimate everything of n samples."""
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
        text=share(with_text, len(measured)),
        parrot=share(parrots, with_text),
        means=means,
    )


def column(measured: Measurements, name: str) -> Floats:
    """Return one measurement, or the difference of two, shape (n,)."""
    if name in RELATIVE:
        before, after = RELATIVE[name]
        return np.asarray(getattr(measured, before) - getattr(measured, after), np.float32)
    return np.asarray(getattr(measured, name), np.float32)


def by_cluster(measured: Measurements, clusters: Integers, seed: int) -> list[tuple[int, Group]]:
    """Return the clusters that have images, by their share of images with text, the largest first."""
    groups = [(int(number), summarise(measured[clusters == number], seed)) for number in np.unique(clusters)]
    return sorted(groups, key=lambda pair: (-pair[1].with_text / pair[1].images, pair[0]))


def histograms(measured: Measurements) -> dict[str, Histogram]:
    """Return the distribution of each relative score over the images with text whose score the removal changed.

    All are in the same bins, `BIN` wide.
    """
    columns = {name: column(measured, name)[measured.text] for name in RELATIVE}
    columns = {name: values[values != 0] for name, values in columns.items()}
    # A bin's middle is a multiple of its width, so that what is next to 0 falls into one bin.
    places = {name: np.round(values / BIN).astype(np.int64) for name, values in columns.items()}
    low = min((int(found.min()) for found in places.values() if len(found)), default=0)
    high = max((int(found.max()) for found in places.values() if len(found)), default=0)
    edges = [round((place - 0.5) * BIN, 6) for place in range(low, high + 2)]
    counts = {name: np.bincount(found - low, minlength=high - low + 1) for name, found in places.items()}
    return {name: Histogram(edges, [int(count) for count in row]) for name, row in counts.items()}


def parrot_shares(groups: Sequence[Group]) -> list[tuple[float, float, float]]:
    """Return for each group the shares of images without text, with other text, and with parroted text."""
    return [
        (1 - g.with_text / g.images, (g.with_text - g.parrots) / g.images, g.parrots / g.images)
        for g in groups
    ]
