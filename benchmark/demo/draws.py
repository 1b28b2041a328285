"""Draws: named, disjoint random streams of the demo world, so that training and evaluation data never overlap."""

import numpy as np

from benchmark.demo.mix import Mix
from benchmark.demo.noise import Draft, Pair, draft_pair, draw_pair

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


def sample_pair(draw: str, index: int, seed: int, mix: Mix, size: int = 128) -> Pair:
    """Return the pair at `index` of `draw`, drawn from `mix`, its image `size` pixels high."""
    return draw_pair(generator(draw, index, seed), mix, family=(seed, DRAWS[draw]), size=size)


def sample_draft(draw: str, index: int, seed: int, mix: Mix) -> Draft:
    """Return the pair at `index` of `draw` without its image, many times faster than `sample_pair`."""
    return draft_pair(generator(draw, index, seed), mix, (seed, DRAWS[draw]))
