"""The drawings of the demo world's things."""

from benchmark.demo.sprites.living import LIVING
from benchmark.demo.sprites.made import MADE
from benchmark.demo.sprites.rare import RARE
from benchmark.demo.sprites.shapes import PAINTS, Part, Sprite

SPRITES: dict[str, Sprite] = {**LIVING, **MADE, **RARE}

__all__ = ["PAINTS", "SPRITES", "Part", "Sprite"]
