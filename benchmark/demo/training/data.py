"""Training data of the scale models: clean scenes, captions and noisy pairs, from draws that only they use."""

from collections.abc import Mapping
from dataclasses import replace
from functools import cache
from pathlib import Path

import numpy as np
import numpy.typing as npt
from omegaconf import OmegaConf
from torch.utils.data import DataLoader, Dataset

from benchmark.demo.draws import generator, sample_pair
from benchmark.demo.noise import Pair, pool_scene
from benchmark.demo.render import render
from benchmark.demo.world import Scene

POOL_CONFIG = Path(__file__).resolve().parents[3] / "conf" / "pool" / "demo.yaml"
HELD_OUT = 1_000_000_000  # first index of a draw that is never trained on

Image = npt.NDArray[np.uint8]  # (height, width, 3), RGB


@cache
def pool_shares() -> dict[str, float]:
    """Return the share of each kind of noise in the demo pool."""
    noise = OmegaConf.load(POOL_CONFIG).pool.demo.noise
    return {str(kind): float(entry.share) for kind, entry in noise.items()}


class Scenes(Dataset[tuple[Image, Scene]]):
    """Images and clean scenes of the `models` draw.

    Args:
        samples: number of scenes.
        seed: random seed of the scenes.
        start: index of the first scene in the draw.
        alone: keep only the first thing in every second scene, as most images of ImageNet show one object; names of
            shapes and colours are then learned many times faster.
    """

    def __init__(self, samples: int, seed: int, start: int = 0, alone: bool = False) -> None:
        self.samples, self.seed, self.start, self.alone = samples, seed, start, alone

    def __len__(self) -> int:
        return self.samples

    def __getitem__(self, index: int) -> tuple[Image, Scene]:
        scene, rng = self._sample(index)
        return render(scene, rng), scene

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
        shares: probability of each kind of noise; the demo pool's by default.
        size: height and width of the images, in pixels.
    """

    def __init__(
        self,
        draw: str,
        samples: int,
        seed: int,
        start: int = 0,
        shares: Mapping[str, float] | None = None,
        size: int = 128,
    ) -> None:
        self.draw, self.samples, self.seed, self.start, self.size = draw, samples, seed, start, size
        self.shares = shares or pool_shares()

    def __len__(self) -> int:
        return self.samples

    def __getitem__(self, index: int) -> Pair:
        return sample_pair(self.draw, self.start + index, self.seed, self.shares, self.size)


def captions(draw: str, samples: int, seed: int, start: int = 0, workers: int = 0) -> list[str]:
    """Return the captions of `samples` pairs of `draw` from index `start`, with all kinds of noise.

    `workers` is the number of processes that generate them.
    """
    pairs = Pairs(draw, samples, seed, start)
    batches = DataLoader(pairs, 256, num_workers=workers, collate_fn=_captions)
    return [caption for batch in batches for caption in batch]


def _captions(pairs: list[Pair]) -> list[str]:
    return [pair.caption for pair in pairs]
