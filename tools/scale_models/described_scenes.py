"""Several descriptions of each of many scenes, to teach a language model which words name the same thing.

The originals learned it from the web's texts. The demo's single captions have only one name for a thing.
"""

from functools import cache

from tools.demo_world.draws import generator
from tools.demo_world.language.trees import text_of
from tools.demo_world.noise import WRITERS, pool_scene
from tools.scale_models.data import caption_world, draw_all

DESCRIPTIONS = 4  # per scene


def described_scenes(samples: int, seed: int, workers: int = 0) -> list[list[str]]:
    """Return `DESCRIPTIONS` of each of the first scenes of the `models` draw; `workers` processes write them."""

    def describe(index: int) -> list[str]:
        rng = generator("models", index, seed)
        scene = pool_scene(rng)
        return [text_of(WRITERS["concrete"](scene, rng)) for _ in range(DESCRIPTIONS)]

    return draw_all(describe, samples, workers)


@cache
def described_world() -> str:
    """Return a string that identifies captions of all kinds and described scenes."""
    return repr([caption_world(), described_scenes(500, 0)])
