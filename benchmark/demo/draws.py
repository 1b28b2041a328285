"""The named draws of the demo world: disjoint streams, so that nothing is trained on what is evaluated."""

from collections.abc import Mapping

import numpy as np

from benchmark.demo.noise import Pair, draw_pair
from benchmark.demo.vocabulary import Domain
from benchmark.demo.world import Scene, sample_scene

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
    """Return the stream of sample `index` of `draw`: no two of them share one."""
    return np.random.default_rng([seed, DRAWS[draw], index])


def pair(draw: str, index: int, seed: int, shares: Mapping[str, float], size: int = 128) -> Pair:
    """Return sample `index` of `draw`, its kind of noise drawn by `shares`."""
    return draw_pair(generator(draw, index, seed), shares, family=(seed, DRAWS[draw]), size=size)


def scene(draw: str, index: int, seed: int, domain: Domain = "in") -> Scene:
    """Return a scene of `domain`, drawn from the stream of sample `index` of `draw`."""
    return sample_scene(generator(draw, index, seed), domain)
