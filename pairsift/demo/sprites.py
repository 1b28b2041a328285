"""Sprites: the drawing of each kind of thing, as polygons and lines; `tools/demo_world/sprites` draws them."""

import json
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt

FILE = Path(__file__).with_suffix(".json")
PAINTS: dict[str, tuple[int, int, int]] = {
    "ink": (30, 28, 34),
    "snow": (250, 250, 250),
    "glass": (168, 216, 240),
    "wood": (124, 78, 40),
    "leaf": (58, 142, 60),
    "gold": (246, 196, 44),
    "fire": (250, 120, 30),
    "steel": (150, 156, 166),
    "cream": (248, 228, 190),
    "rose": (232, 96, 110),
}


@dataclass(frozen=True)
class Part:
    """A filled polygon, or an open line if `width` is above 0."""

    points: npt.NDArray[np.float32]  # float32, shape (n, 2), from -1 to 1, y pointing down
    # "main" (the thing's colour and pattern), "dark" or "light" (shades of that colour), or a key of `PAINTS`.
    paint: str
    width: float = 0.0  # width of the line in radii of the thing


Sprite = tuple[Part, ...]


def read_sprites() -> dict[str, Sprite]:
    """Return the shipped sprites by kind, or by kind and action (``dog:sitting``)."""
    sprites = json.loads(FILE.read_text())
    return {
        name: tuple(Part(np.array(points, np.float32), paint, width) for paint, width, points in parts)
        for name, parts in sprites.items()
    }
