"""Renders a scene: first the background, then the things from back to front with the effects of their actions."""

import math
from functools import lru_cache
from itertools import accumulate, pairwise

import cv2
import numpy as np
import numpy.typing as npt

from pairsift.demo.action_effects import draw_effect
from pairsift.demo.backgrounds import Image, backgrounds
from pairsift.demo.draws import pick
from pairsift.demo.patterns import pattern_image
from pairsift.demo.sprites import PAINTS, Part, read_sprites
from pairsift.demo.vocabulary import COLOURS
from pairsift.demo.world import FORMATIONS, Scene, Thing

Colour = tuple[int, int, int]
SPRITES = read_sprites()
SHIFT = 4  # fractional bits of cv2 coordinates: sixteenths of a pixel
TILTS = {"leaning": 24.0, "falling": 32.0, "jumping": -16.0, "swaying": 12.0, "spinning": 16.0}
OUTLINE = 0.55  # brightness of an outline relative to the colour inside


def _shade(colour: Colour, factor: float) -> Colour:
    """Darken a colour (factor < 1), or mix it with white (factor > 1)."""
    r, g, b = colour
    if factor <= 1:
        return int(r * factor), int(g * factor), int(b * factor)
    mix = factor - 1
    return int(r + (255 - r) * mix), int(g + (255 - g) * mix), int(b + (255 - b) * mix)


@lru_cache(maxsize=256)
def _paints(colour: str) -> dict[str, Colour]:
    main = COLOURS[colour]
    return {**PAINTS, "main": main, "dark": _shade(main, 0.68), "light": _shade(main, 1.55)}


@lru_cache(maxsize=256)
def _geometry(sprite: str) -> tuple[npt.NDArray[np.float32], list[slice], tuple[Part, ...]]:
    """Return all points of a sprite in one array, the slice of each part, and the parts."""
    parts = SPRITES[sprite]
    points = np.concatenate([part.points for part in parts])
    ends = list(accumulate(len(part.points) for part in parts))
    return points, [slice(start, end) for start, end in pairwise([0, *ends])], parts


@lru_cache(maxsize=16_384)
def _turned_points(sprite: str, radius: float, facing: int, tilt: float) -> npt.NDArray[np.float32]:
    """Return the points of a sprite, scaled, mirrored and rotated by `tilt` degrees."""
    angle = math.radians(tilt * facing)
    c, s = radius * math.cos(angle), radius * math.sin(angle)
    return _geometry(sprite)[0] @ np.array([[c * facing, s * facing], [-s, c]], np.float32)


def _draw_member(image: Image, thing: Thing, x: float, y: float) -> None:
    """Draw one member of a group with its centre at (`x`, `y`)."""
    size = image.shape[0]
    sprite = f"{thing.kind}:{thing.action}" if f"{thing.kind}:{thing.action}" in SPRITES else thing.kind
    paints = _paints(thing.colour)
    # Black things have a light edge, or they would be invisible at night.
    edge = _shade(paints["main"], 1.35 if thing.colour == "black" else OUTLINE)
    _, spans, parts = _geometry(sprite)
    turned = _turned_points(sprite, thing.radius, thing.facing, TILTS.get(thing.action, 0.0))
    shifted = turned + np.array([x, y], np.float32)
    shifted *= size << SHIFT  # in sixteenths of a pixel
    placed = np.rint(shifted, out=shifted).astype(np.int32)
    for part, span in zip(parts, spans, strict=True):
        points = placed[span]
        colour = paints[part.paint]
        if part.width:
            width = max(1, round(part.width * thing.radius * size))
            cv2.polylines(image, [points], False, colour, width, cv2.LINE_AA, SHIFT)
            continue
        cv2.fillPoly(image, [points], colour, cv2.LINE_AA, SHIFT)
        if part.paint == "main":
            if thing.pattern != "plain":
                _fill_pattern(image, points, thing)
            cv2.polylines(image, [points], True, edge, 1, cv2.LINE_AA, SHIFT)


def _fill_pattern(image: Image, points: npt.NDArray[np.int32], thing: Thing) -> None:
    """Draw the pattern of `thing` inside the polygon `points`."""
    size = image.shape[0]
    x, y, width, height = cv2.boundingRect(points)
    left, top = max(x >> SHIFT, 0), max(y >> SHIFT, 0)
    right, bottom = min(((x + width - 1) >> SHIFT) + 1, size), min(((y + height - 1) >> SHIFT) + 1, size)
    if right <= left or bottom <= top:
        return
    painted, mask = pattern_image(thing.pattern, thing.colour, size)
    inside = np.zeros((bottom - top, right - left), np.uint8)
    cv2.fillPoly(inside, [points - np.array([left << SHIFT, top << SHIFT], np.int32)], 255, cv2.LINE_8, SHIFT)
    inside &= mask[: bottom - top, : right - left]
    cv2.copyTo(painted[: bottom - top, : right - left], inside, image[top:bottom, left:right])


def _draw_thing(image: Image, thing: Thing) -> None:
    draw_effect(image, thing)
    for dx, dy in FORMATIONS[thing.count - 1]:
        x, y = thing.x + dx * thing.radius, thing.y + dy * thing.radius
        _draw_member(image, thing, x, y)


def _painting_order(scene: Scene) -> list[Thing]:
    """Return the things from back to front: a thing behind or inside another comes first."""
    if len(scene.things) == 1:
        return list(scene.things)
    first, second, *rest = scene.things
    pair = [second, first] if scene.relation in ("on", "in front of") else [first, second]
    return [*rest, *pair]


def render(scene: Scene, rng: np.random.Generator, size: int = 128) -> Image:
    """Return an image of `scene`: RGB, uint8, shape (size, size, 3)."""
    background = pick(rng, backgrounds(size)[scene.place])
    image = np.asarray(cv2.flip(background, 1), np.uint8) if rng.random() < 0.5 else background.copy()
    for thing in _painting_order(scene):
        _draw_thing(image, thing)
    # Random brightness and contrast, so that no two images share a palette.
    lit = cv2.convertScaleAbs(image, alpha=0.9 + 0.16 * rng.random(), beta=8 * (rng.random() - 0.5))
    return np.asarray(lit, np.uint8)
