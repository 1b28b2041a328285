"""Pairs of the named random streams in `pairsift.demo.draws`."""

import numpy as np

from pairsift.demo.draws import DRAWS
from tools.demo_world.mix import Mix
from tools.demo_world.noise import Draft, Pair, draft_pair, draw_pair

# Increase it with every change to the generated pairs, so that files made from older pairs are not reused.
GENERATOR_VERSION = 4


def generator(draw: str, index: int, seed: int) -> np.random.Generator:
    """Return the random generator of the sample at `index` of `draw`; every sample has a separate generator."""
    return np.random.default_rng([seed, DRAWS[draw], index])


def sample_pair(draw: str, index: int, seed: int, mix: Mix, size: int = 128) -> Pair:
    """Return the pair at `index` of `draw`, drawn from `mix`, its image `size` pixels high."""
    return draw_pair(generator(draw, index, seed), mix, family=(seed, DRAWS[draw]), size=size)


def sample_draft(draw: str, index: int, seed: int, mix: Mix) -> Draft:
    """Return the pair at `index` of `draw` without its image, many times faster than `sample_pair`."""
    return draft_pair(generator(draw, index, seed), mix, (seed, DRAWS[draw]))
