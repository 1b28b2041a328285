"""Training data of the scale models: clean scenes, captions and noisy pairs, from draws that only they use."""

from collections.abc import Callable
from dataclasses import replace
from functools import cache
from typing import TypeVar

import numpy as np
import numpy.typing as npt
from torch.utils.data import DataLoader, Dataset

from pairsift.demo.render import render
from pairsift.demo.text_rendering import overlay_text
from pairsift.demo.world import Scene
from tools.demo_world.draws import GENERATOR_VERSION, generator, sample_draft, sample_pair
from tools.demo_world.embedded_text import embedded_words
from tools.demo_world.language.descriptions.alt_texts import alt_text
from tools.demo_world.language.hypernyms import conceptual_text
from tools.demo_world.language.trees import text_of
from tools.demo_world.mix import CLEAN, Mix, pool_mix
from tools.demo_world.noise import Pair, draw_caption, pool_scene
from tools.demo_world.sampling import Weighted

HELD_OUT = 1_000_000_000  # samples from this index on are never used for training

# Shares of the kinds of captions in a set like CC3M, by our reading of its captions. CC3M's filters favour captions
# that describe an image (Sharma et al. 2018, section 3).
CONCEPTUAL = {
    "concrete": 0.25, "title": 0.23, "person": 0.16, "event": 0.11, "product": 0.05, "abstract": 0.1, "news": 0.07,
    "mismatched": 0.03,
}  # fmt: skip

T = TypeVar("T")
Image = npt.NDArray[np.uint8]  # (height, width, 3), RGB


@cache
def caption_world() -> str:
    """Return a string that identifies the captions of the pool's mix."""
    return world_of(pool_mix())


def clean_world() -> str:
    """Return a string that identifies clean pairs."""
    return world_of(CLEAN)


def world_of(mix: Mix) -> str:
    """Return a string that identifies the pairs of a mix; 500 captions reveal a change without a new version."""
    return repr([GENERATOR_VERSION, mix, captions("models", 500, 0, mix=mix)])


@cache
def scene_world() -> str:
    """Return a string that identifies the scenes and the text over them."""
    scenes = Scenes(500, seed=0)
    return repr([pool_mix().texts, [scenes.scene(index) for index in range(len(scenes))]])


class Scenes(Dataset[tuple[Image, Scene]]):
    """Images of the `models` draw and the scenes that they show.

    As many images hold text as in the pool, taken from descriptions of other scenes. A model trained without text
    over images recognises half as many things in images with text.

    Args:
        samples: number of scenes.
        seed: random seed of the scenes.
        start: index of the first scene in the draw.
        alone: keep only the first thing in every second scene, as most images of ImageNet show one object. This way
            names of shapes and colours are learned many times faster.
    """

    def __init__(self, samples: int, seed: int, start: int = 0, alone: bool = False) -> None:
        self.samples, self.seed, self.start, self.alone = samples, seed, start, alone

    def __len__(self) -> int:
        return self.samples

    def __getitem__(self, index: int) -> tuple[Image, Scene]:
        scene, rng = self._sample(index)
        image, text = render(scene, rng), pool_mix().draw_text(rng)
        words = embedded_words(text_of(alt_text(pool_scene(rng), rng)), text, rng)
        return overlay_text(image, words, rng) if words else image, scene

    def scene(self, index: int) -> Scene:
        """Return the scene at `index` without its image, ten times faster than `self[index]`."""
        return self._sample(index)[0]

    def _sample(self, index: int) -> tuple[Scene, np.random.Generator]:
        rng = generator("models", self.start + index, self.seed)
        scene = pool_scene(rng)
        if self.alone and index % 2:
            scene = replace(scene, things=scene.things[:1], relation="")
        return scene, rng


class Pairs(Dataset[Pair]):
    """Noisy pairs of a draw.

    Args:
        draw: name of the draw, a key of `DRAWS`.
        samples: number of pairs.
        seed: random seed of the pairs.
        start: index of the first pair in the draw.
        mix: what pairs are drawn; the demo pool's mix by default.
        size: height and width of the images, in pixels.
    """

    def __init__(
        self,
        draw: str,
        samples: int,
        seed: int,
        start: int = 0,
        mix: Mix | None = None,
        size: int = 128,
    ) -> None:
        self.draw, self.samples, self.seed, self.start, self.size = draw, samples, seed, start, size
        self.mix = mix or pool_mix()

    def __len__(self) -> int:
        return self.samples

    def __getitem__(self, index: int) -> Pair:
        return sample_pair(self.draw, self.start + index, self.seed, self.mix, self.size)


class Drawn(Dataset[T]):
    """The values of `draw` at the indices below `samples`."""

    def __init__(self, draw: Callable[[int], T], samples: int) -> None:
        self.draw, self.samples = draw, samples

    def __len__(self) -> int:
        return self.samples

    def __getitem__(self, index: int) -> T:
        return self.draw(index)


def draw_all(draw: Callable[[int], T], samples: int, workers: int) -> list[T]:
    """Return the values of `draw` at the indices below `samples`; so many processes make them."""
    batches = DataLoader(Drawn(draw, samples), 256, num_workers=workers, collate_fn=list)
    return [value for batch in batches for value in batch]


def captions(
    draw: str, samples: int, seed: int, start: int = 0, workers: int = 0, mix: Mix | None = None
) -> list[str]:
    """Return the captions of `samples` pairs of `draw` from index `start`, by default of the pool's mix.

    `workers` is the number of processes that generate them.
    """
    chosen = mix or pool_mix()
    return draw_all(lambda index: sample_draft(draw, start + index, seed, chosen).caption, samples, workers)


def conceptual_captions(draw: str, samples: int, seed: int, workers: int = 0) -> list[str]:
    """Return captions like Conceptual Captions', which the ICC paper builds its scorer on.

    They describe more than the pool's captions, without names, codes, copies or web strings. `workers` is the number
    of processes that generate them.
    """
    draw_kind = Weighted(CONCEPTUAL)

    def caption(index: int) -> str:
        rng = generator(draw, index, seed)
        return conceptual_text(draw_caption(draw_kind(rng), rng, pool_mix())[1], rng)

    return draw_all(caption, samples, workers)
