"""Lines that show a thing's action: streaks behind moving, rays around shining, and steam over hot things."""

import math
from collections.abc import Iterable

import cv2
import numpy as np

from pairsift.demo.backgrounds import Image
from pairsift.demo.world import FORMATIONS, Thing

Colour = tuple[int, int, int]
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

    def curve(self, points: Iterable[tuple[float, float]], colour: Colour) -> None:
        """Draw an open line with a dark edge, so that it is visible on every background."""
        placed = np.array([self._point(x, y) for x, y in points], np.int32)
        width = max(1, round(self.size / 64))
        if colour != INK:
            cv2.polylines(self.image, [placed], False, INK, width + 2, cv2.LINE_AA, 4)
        cv2.polylines(self.image, [placed], False, colour, width, cv2.LINE_AA, 4)

    def disc(self, x: float, y: float, radius: float, colour: Colour) -> None:
        """Draw a small disc; `radius` is in radii of one member of the group."""
        r = round(max(radius * self.radius, 0.012) * self.size * 16)
        cv2.circle(self.image, self._point(x, y), r, colour, -1, cv2.LINE_AA, 4)
        cv2.circle(self.image, self._point(x, y), r, INK, 1, cv2.LINE_AA, 4)


def _arc(x: float, y: float, radius: float, start: float, end: float) -> list[tuple[float, float]]:
    angles = [math.radians(start + (end - start) * i / 8) for i in range(9)]
    return [(x + radius * math.cos(a), y + radius * math.sin(a)) for a in angles]


def _wave(x0: float, x1: float, y: float, height: float) -> list[tuple[float, float]]:
    return [(x0 + (x1 - x0) * i / 12, y + height * math.sin(i * 1.3)) for i in range(13)]


def _streaks(pen: Pen) -> None:
    for y, length in ((-0.45, 0.5), (0.05, 0.75), (0.55, 0.5)):
        pen.curve([(-1.15, y), (-1.15 - length, y)], WHITE)


def _fall(pen: Pen) -> None:
    for x, length in ((-0.6, 0.45), (0, 0.7), (0.6, 0.45)):
        pen.curve([(x, -1.2), (x, -1.2 - length)], WHITE)


def _bounce(pen: Pen) -> None:
    pen.curve(_arc(-1.3, 1.2, 0.9, 250, 350), WHITE)
    pen.curve([(-0.5, 1.7), (0.5, 1.7)], WHITE)


def _jump(pen: Pen) -> None:
    for x in (-0.5, 0, 0.5):
        pen.curve([(x, 1.2), (x - 0.12, 1.65)], WHITE)


def _shine(pen: Pen) -> None:
    for angle in range(0, 360, 45):
        c, s = math.cos(math.radians(angle)), math.sin(math.radians(angle))
        pen.curve([(1.2 * c, 1.2 * s), (1.6 * c, 1.6 * s)], GOLD)


def _steam(pen: Pen) -> None:
    for x in (-0.4, 0.0, 0.4):
        pen.curve([(x + 0.12 * math.sin(i * 1.6), -1 - 0.12 * i) for i in range(7)], WHITE)


def _sail(pen: Pen) -> None:
    pen.curve(_wave(-1.5, 1.3, 1.0, 0.09), WHITE)
    pen.curve(_wave(-1.8, 0.6, 1.25, 0.07), WHITE)


def _swim(pen: Pen) -> None:
    for x, y, radius in ((1.25, -0.35, 0.13), (1.4, -0.75, 0.17), (1.2, -1.1, 0.12)):
        pen.disc(x, y, radius, (190, 232, 246))
    pen.curve(_wave(-1.9, -1.1, 0, 0.14), WHITE)


def _float(pen: Pen) -> None:
    for x in (-1.2, 1.2):
        pen.curve([(x, -0.5), (x * 1.1, 0.0), (x, 0.5)], WHITE)


def _sway(pen: Pen) -> None:
    pen.curve(_arc(0, 0, 1.25, 200, 240), WHITE)
    pen.curve(_arc(0, 0, 1.25, -60, -20), WHITE)


def _spin(pen: Pen) -> None:
    pen.curve(_arc(0, 0, 1.25, -50, 60), WHITE)
    pen.curve(_arc(0, 0, 1.25, 130, 240), WHITE)


def _crawl(pen: Pen) -> None:
    pen.curve(_wave(-2.1, -1.1, 0.9, 0.06), GREY)
    pen.curve(_wave(-1.9, -1.2, 0.6, 0.06), GREY)


def _drive(pen: Pen) -> None:
    for x, y, radius in ((-1.15, 0.45, 0.15), (-1.45, 0.3, 0.2), (-1.8, 0.1, 0.25)):
        pen.disc(x, y, radius, GREY)


def _burn(pen: Pen) -> None:
    for angle in (-150, -120, -90, -60, -30):
        c, s = math.cos(math.radians(angle)), math.sin(math.radians(angle))
        pen.curve([(0.55 * c, -0.65 + 0.45 * s), (0.9 * c, -0.65 + 0.75 * s)], GOLD)


EFFECTS = {
    "rolling": _streaks, "running": _streaks, "flying": _streaks, "falling": _fall, "bouncing": _bounce,
    "jumping": _jump, "shining": _shine, "steaming": _steam, "sailing": _sail, "swimming": _swim,
    "floating": _float, "swaying": _sway, "spinning": _spin, "crawling": _crawl, "driving": _drive,
    "burning": _burn,
}  # fmt: skip


def draw_effect(image: Image, thing: Thing) -> None:
    """Draw the effect of the action of `thing` into `image`; postures such as sitting have none."""
    if thing.action in EFFECTS:
        EFFECTS[thing.action](Pen(image, thing))
