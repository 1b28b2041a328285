"""Lines that show a thing's action: streaks behind moving, rays around shining, and steam over hot things."""

import math
from collections.abc import Iterable

import cv2
import numpy as np

from pairsift.demo.backgrounds import Image
from pairsift.demo.world import FORMATIONS, Thing

Colour = tuple[int, int, int]
Points = list[tuple[float, float]]
WHITE, INK, GREY, GOLD = (250, 250, 250), (40, 40, 48), (206, 208, 212), (255, 226, 90)


class Pen:
    """Draws around a group of things, in units of half its extent from its centre; x points the way it faces."""

    def __init__(self, image: Image, thing: Thing) -> None:
        reach = max(abs(v) for offset in FORMATIONS[thing.count - 1] for v in offset) + 1
        self.image, self.size = image, image.shape[0]
        self.x, self.y, self.facing = thing.x, thing.y, thing.facing
        self.across, self.radius = thing.radius * reach, thing.radius
        self.down = thing.radius * (1 if thing.count < 3 else 1.75)

    def _point(self, x: float, y: float) -> tuple[int, int]:
        scale = self.size * 16
        return (
            round((self.x + x * self.across * self.facing) * scale),
            round((self.y + y * self.down) * scale),
        )

    def curve(self, points: Points, colour: Colour) -> None:
        """Draw an open line with a dark edge, so that it is visible on every background."""
        placed = np.array([self._point(x, y) for x, y in points], np.int32)
        width = max(1, round(self.size / 64))
        cv2.polylines(self.image, [placed], False, INK, width + 2, cv2.LINE_AA, 4)
        cv2.polylines(self.image, [placed], False, colour, width, cv2.LINE_AA, 4)

    def disc(self, x: float, y: float, radius: float, colour: Colour) -> None:
        """Draw a small disc; `radius` is in radii of one member of the group."""
        r = round(max(radius * self.radius, 0.012) * self.size * 16)
        cv2.circle(self.image, self._point(x, y), r, colour, -1, cv2.LINE_AA, 4)
        cv2.circle(self.image, self._point(x, y), r, INK, 1, cv2.LINE_AA, 4)


def _arc(x: float, y: float, radius: float, start: float, end: float) -> Points:
    angles = [math.radians(start + (end - start) * i / 8) for i in range(9)]
    return [(x + radius * math.cos(a), y + radius * math.sin(a)) for a in angles]


def _wave(x0: float, x1: float, y: float, height: float) -> Points:
    return [(x0 + (x1 - x0) * i / 12, y + height * math.sin(i * 1.3)) for i in range(13)]


def _rays(angles: Iterable[int], y: float, *radii: tuple[float, float]) -> list[Points]:
    """Return a line at each angle around (0, `y`), between two ellipses of these radii."""
    turns = [(math.cos(math.radians(angle)), math.sin(math.radians(angle))) for angle in angles]
    return [[(across * c, y + down * s) for across, down in radii] for c, s in turns]


_THREE = ((-0.6, 0.45), (0, 0.7), (0.6, 0.45))
_STREAKS = [[(-1.15, y), (-1.15 - length, y)] for y, length in ((-0.45, 0.5), (0.05, 0.75), (0.55, 0.5))]
# The colour and the points of each action's lines; postures such as sitting have none.
LINES: dict[str, tuple[Colour, list[Points]]] = {
    **dict.fromkeys(("rolling", "running", "flying"), (WHITE, _STREAKS)),
    "falling": (WHITE, [[(x, -1.2), (x, -1.2 - length)] for x, length in _THREE]),
    "bouncing": (WHITE, [_arc(-1.3, 1.2, 0.9, 250, 350), [(-0.5, 1.7), (0.5, 1.7)]]),
    "jumping": (WHITE, [[(x, 1.2), (x - 0.12, 1.65)] for x in (-0.5, 0, 0.5)]),
    "shining": (GOLD, _rays(range(0, 360, 45), 0, (1.2, 1.2), (1.6, 1.6))),
    "steaming": (
        WHITE,
        [[(x + 0.12 * math.sin(i * 1.6), -1 - 0.12 * i) for i in range(7)] for x in (-0.4, 0, 0.4)],
    ),
    "sailing": (WHITE, [_wave(-1.5, 1.3, 1.0, 0.09), _wave(-1.8, 0.6, 1.25, 0.07)]),
    "swimming": (WHITE, [_wave(-1.9, -1.1, 0, 0.14)]),
    "floating": (WHITE, [[(x, -0.5), (x * 1.1, 0.0), (x, 0.5)] for x in (-1.2, 1.2)]),
    "swaying": (WHITE, [_arc(0, 0, 1.25, 200, 240), _arc(0, 0, 1.25, -60, -20)]),
    "spinning": (WHITE, [_arc(0, 0, 1.25, -50, 60), _arc(0, 0, 1.25, 130, 240)]),
    "crawling": (GREY, [_wave(-2.1, -1.1, 0.9, 0.06), _wave(-1.9, -1.2, 0.6, 0.06)]),
    "burning": (GOLD, _rays((-150, -120, -90, -60, -30), -0.65, (0.55, 0.45), (0.9, 0.75))),
}
# Discs (x, y, radius) with their colour; they are drawn before the lines.
DISCS = {
    "swimming": ((190, 232, 246), ((1.25, -0.35, 0.13), (1.4, -0.75, 0.17), (1.2, -1.1, 0.12))),
    "driving": (GREY, ((-1.15, 0.45, 0.15), (-1.45, 0.3, 0.2), (-1.8, 0.1, 0.25))),
}


def draw_effect(image: Image, thing: Thing) -> None:
    """Draw the effect of the action of `thing` into `image`."""
    pen = Pen(image, thing)
    colour, discs = DISCS.get(thing.action, (GREY, ()))
    for disc in discs:
        pen.disc(*disc, colour)
    colour, lines = LINES.get(thing.action, (WHITE, []))
    for points in lines:
        pen.curve(points, colour)
