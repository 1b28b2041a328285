"""The drawings of the demo world's things."""

from benchmark.demo.sprites.animals_and_plants import LIVING
from benchmark.demo.sprites.objects import MADE
from benchmark.demo.sprites.rare_objects import RARE
from benchmark.demo.sprites.shapes import PAINTS, Part, Sprite

SPRITES: dict[str, Sprite] = {**LIVING, **MADE, **RARE}

__all__ = ["PAINTS", "SPRITES", "Part", "Sprite"]
