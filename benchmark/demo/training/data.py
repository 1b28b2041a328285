"""What the scale models learn from: clean scenes, captions and noisy pairs of their own draws of the world."""

from collections.abc import Mapping
from dataclasses import replace
from functools import cache
from pathlib import Path

import numpy as np
import numpy.typing as npt
from omegaconf import OmegaConf
from torch.utils.data import DataLoader, Dataset

from benchmark.demo.draws import generator, pair
from benchmark.demo.noise import Pair, pool_scene
from benchmark.demo.render import render
from benchmark.demo.world import Scene

POOL = Path(__file__).resolve().parents[3] / "conf" / "pool" / "demo.yaml"
HELD_OUT = 1_000_000_000  # index of a draw's first sample that no training reaches

Picture = npt.NDArray[np.uint8]  # (height, width, 3), RGB


@cache
def pool_shares() -> dict[str, float]:
    """Return the share of each kind of noise in the demo pool."""
    noise = OmegaConf.load(POOL).pool.demo.noise
    return {str(kind): float(entry.share) for kind, entry in noise.items()}


class Scenes(Dataset[tuple[Picture, Scene]]):
    """Clean scenes of the `models` draw and their pictures, from index `start`.

    With `alone`, every second scene keeps one thing, as most pictures of ImageNet do: what a shape or a colour is
    called is learned many times faster where there is no other to confuse it with.
    """

    def __init__(self, samples: int, seed: int, start: int = 0, alone: bool = False) -> None:
        self.samples, self.seed, self.start, self.alone = samples, seed, start, alone

    def __len__(self) -> int:
        return self.samples

    def __getitem__(self, index: int) -> tuple[Picture, Scene]:
        scene, rng = self._drawn(index)
        return render(scene, rng), scene

    def scene(self, index: int) -> Scene:
        """Return a scene alone, which takes a tenth of the time of its picture."""
        return self._drawn(index)[0]

    def _drawn(self, index: int) -> tuple[Scene, np.random.Generator]:
        rng = generator("models", self.start + index, self.seed)
        scene = pool_scene(rng)
        if self.alone and index % 2:
            scene = replace(scene, things=scene.things[:1], relation="")
        return scene, rng


class Pairs(Dataset[Pair]):
    """Pairs of a draw from index `start`, their pictures `size` pixels high.

    The `shares` of each kind of noise are the pool's unless given.
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
        return pair(self.draw, self.start + index, self.seed, self.shares, self.size)


def captions(draw: str, samples: int, seed: int, start: int = 0, workers: int = 0) -> list[str]:
    """Return the captions of `samples` pairs of `draw`, all kinds of noise mixed."""
    pairs = Pairs(draw, samples, seed, start)
    batches = DataLoader(pairs, 256, num_workers=workers, collate_fn=_captions)
    return [caption for batch in batches for caption in batch]


def _captions(pairs: list[Pair]) -> list[str]:
    return [pair.caption for pair in pairs]
