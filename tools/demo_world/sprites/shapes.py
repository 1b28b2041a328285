"""Shapes that sprites are made of: polygons and lines with coordinates from -1 to 1, y pointing down."""

import numpy as np
import numpy.typing as npt

from pairsift.demo.sprites import Part


def poly(paint: str, *xy: float) -> Part:
    """Return a filled polygon with the corners (x0, y0), (x1, y1), ..."""
    return Part(np.asarray(xy, np.float32).reshape(-1, 2), paint)


def line(paint: str, width: float, *xy: float) -> Part:
    """Return an open line of `width` through (x0, y0), (x1, y1), ..."""
    return Part(np.asarray(xy, np.float32).reshape(-1, 2), paint, width)


def box(paint: str, left: float, top: float, right: float, bottom: float) -> Part:
    """Return an upright rectangle."""
    return poly(paint, left, top, right, top, right, bottom, left, bottom)


def arc_points(
    x: float, y: float, rx: float, ry: float, start: float, end: float, turn: float = 0
) -> npt.NDArray[np.float32]:
    """Return points of an ellipse from `start` to `end` degrees (0 right, 90 down), rotated by `turn` degrees."""
    steps = max(8, int(abs(end - start) / 15))
    angle = np.deg2rad(np.linspace(start, end, steps, endpoint=abs(end - start) < 360))
    unit = np.stack([rx * np.cos(angle), ry * np.sin(angle)], axis=1)
    c, s = np.cos(np.deg2rad(turn)), np.sin(np.deg2rad(turn))
    return np.asarray(unit @ np.array([[c, s], [-s, c]]) + (x, y), np.float32)


def oval(
    paint: str, x: float, y: float, rx: float, ry: float, start: float = 0, end: float = 360, turn: float = 0
) -> Part:
    """Return a filled ellipse, or its segment between two angles."""
    return Part(arc_points(x, y, rx, ry, start, end, turn), paint)


def disc(paint: str, x: float, y: float, radius: float) -> Part:
    """Return a filled circle."""
    return oval(paint, x, y, radius, radius)


def arc(paint: str, width: float, x: float, y: float, rx: float, ry: float, start: float, end: float) -> Part:
    """Return a curved line along an ellipse between two angles."""
    return Part(arc_points(x, y, rx, ry, start, end), paint, width)


def star(paint: str, x: float, y: float, outer: float, inner: float, tips: int) -> Part:
    """Return a filled star with `tips` tips, one of them pointing up."""
    angle = np.pi * (np.arange(2 * tips) / tips - 0.5)
    radius = np.where(np.arange(2 * tips) % 2 == 0, outer, inner)
    points = np.stack([x + radius * np.cos(angle), y + radius * np.sin(angle)], axis=1)
    return Part(points.astype(np.float32), paint)
