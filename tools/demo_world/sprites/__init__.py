"""Sprites: the drawing of each kind of thing, which pairsift/demo/sprites.json ships."""

import json
from pathlib import Path

from benchmark.core.paths import write_text
from pairsift.demo.sprites import Sprite
from tools.demo_world.sprites.animals_and_plants import ANIMALS_AND_PLANTS
from tools.demo_world.sprites.objects import OBJECTS
from tools.demo_world.sprites.rare_objects import RARE_OBJECTS

SPRITES: dict[str, Sprite] = {**ANIMALS_AND_PLANTS, **OBJECTS, **RARE_OBJECTS}


def write_sprites(path: Path) -> None:
    """Write all sprites, one per line; numbers have the digits that float32 needs."""
    lines = []
    for name, parts in SPRITES.items():
        listed = [
            [part.paint, part.width, [[float(str(x)) for x in point] for point in part.points]]
            for part in parts
        ]
        lines.append(f"{json.dumps(name)}: {json.dumps(listed)}")
    write_text(path, "{\n" + ",\n".join(lines) + "\n}\n")
