"""Tables of filters with known true qualities, with the noises that were measured on the demo."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from benchmark.results.report.significance import Comparison, compare

Floats = npt.NDArray[np.float64]


@dataclass(frozen=True)
class Noises:
    """Standard deviations of a mean over `images`, by source."""

    images: int
    difficulty: float  # of the images, shared by all filters
    fit: float  # of a filter on the images
    independent: float  # of training, independent between images
    shared: float  # of training, shared by all images


# Filters above the floor in results/reference; of zero-shot accuracy the images are 39 classes.
CIDER, RECALL, ZERO_SHOT = (
    Noises(500, 0.64, 0.36, 0.87, 0.27),
    Noises(500, 0.31, 0.26, 0.53, 0.72),
    Noises(39, 2.99, 1.37, 2.97, 0.41),
)


def simulate(
    rng: np.random.Generator, quality: Sequence[float], seeds: Sequence[int], noises: Noises = CIDER
) -> Comparison:
    """Compare filters of this quality, as many runs of each as `seeds` says, on newly drawn images."""
    of_one, root = noises.images, noises.images**0.5
    difficulty = rng.normal(0, noises.difficulty * root, of_one)
    tables: list[Floats] = []
    for mean, runs in zip(quality, seeds, strict=True):
        of_filter = mean + difficulty + rng.normal(0, noises.fit * root, of_one)
        independent = rng.normal(0, noises.independent * root, (runs, of_one))
        tables.append(of_filter + independent + rng.normal(0, noises.shared, (runs, 1)))
    return compare([table.mean(axis=1).tolist() for table in tables], list(tables))


def any_better(comparison: Comparison) -> bool:
    """Whether the comparison calls any filter better than another."""
    return bool((comparison.p_values <= 0.05).any())


def best(comparison: Comparison, one: int) -> bool:
    """Whether the comparison calls a filter better than all others."""
    return all(comparison.better(one, other) for other in range(len(comparison.estimates)) if other != one)
