"""Draws: named, disjoint random streams of the demo world, so that training and evaluation data never overlap."""

from collections.abc import Mapping

import numpy as np

from benchmark.demo.noise import Pair, draw_pair

# The number of each draw, which is part of its random seed.
DRAWS = {
    "pool": 0,
    "evaluation": 1,
    "models": 2,
    "clip": 3,
    "scorer": 4,
    "annotation": 5,
    "llm": 6,
    "pacscore": 7,
    "classes": 8,
}


def generator(draw: str, index: int, seed: int) -> np.random.Generator:
    """Return the random generator of the sample at `index` of `draw`; every sample has its own."""
    return np.random.default_rng([seed, DRAWS[draw], index])


def sample_pair(draw: str, index: int, seed: int, shares: Mapping[str, float], size: int = 128) -> Pair:
    """Return the pair at `index` of `draw`, its image `size` pixels high.

    `shares` gives the probability of each kind of noise.
    """
    return draw_pair(generator(draw, index, seed), shares, family=(seed, DRAWS[draw]), size=size)
