"""Random draws of the demo world: named streams that never overlap, and generators at a position."""

from collections.abc import Sequence
from typing import TypeVar

import numpy as np

T = TypeVar("T")
# The number of each stream, which is part of its random seeds: [seed, number, index of the sample].
DRAWS = {
    "pool": 0, "evaluation": 1, "models": 2, "clip": 3, "scorer": 4, "annotation": 5, "llm": 6, "pacscore": 7,
    "classes": 8,
}  # fmt: skip


def generator_at(seed: Sequence[int], position: int) -> np.random.Generator:
    """Return the random generator with this seed after `position` values."""
    bits = np.random.PCG64(seed)
    bits.advance(position)
    return np.random.Generator(bits)


def pick(rng: np.random.Generator, options: Sequence[T]) -> T:
    """Return one of `options` with equal probability; ten times faster than `Generator.choice`."""
    return options[int(rng.random() * len(options))]
