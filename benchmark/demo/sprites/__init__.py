"""Sprites: the drawing of each kind of thing, as polygons and lines."""

from benchmark.demo.sprites.animals_and_plants import ANIMALS_AND_PLANTS
from benchmark.demo.sprites.objects import OBJECTS
from benchmark.demo.sprites.rare_objects import RARE_OBJECTS
from benchmark.demo.sprites.shapes import PAINTS, Part, Sprite

SPRITES: dict[str, Sprite] = {**ANIMALS_AND_PLANTS, **OBJECTS, **RARE_OBJECTS}

__all__ = ["PAINTS", "SPRITES", "Part", "Sprite"]
