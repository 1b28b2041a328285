"""Quality over cost: a scatter plot with a logarithmic axis."""

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import pairwise

from benchmark.report.svg import (
    CHARACTER,
    Frame,
    Limits,
    dot,
    line,
    padded_limits,
    rules,
    shortened,
    svg,
    text,
    vertical_rule,
)

XY = tuple[float, float]  # coordinates in a chart, from the left and from the top
Rectangle = tuple[float, float, float, float]  # left, top, right, bottom
FRAME = Frame(820, 440, left=48, right=34, top=14, bottom=44)


@dataclass(frozen=True)
class Point:
    """A filter by its cost in seconds and its quality. An upper bound does not compete."""

    label: str
    seconds: float
    value: float
    colour: str
    is_upper_bound: bool = False


def cost_scatter(points: Sequence[Point], label: str, x_label: str) -> str:
    """Return points over the logarithm of their seconds, and a line through those that no cheaper one beats."""
    exponents = [math.log10(point.seconds) for point in points]
    x_limits, y_limits = _decades(exponents), padded_limits([point.value for point in points])
    positions = [
        (FRAME.x(exponent, x_limits), FRAME.y(point.value, y_limits))
        for exponent, point in zip(exponents, points, strict=True)
    ]
    parts = [rules(FRAME, y_limits)]
    powers = range(int(x_limits[0]), int(x_limits[1]) + 1)
    parts += [vertical_rule(FRAME, FRAME.x(power, x_limits), _seconds(power)) for power in powers]
    front = _pareto_front(points, positions)
    parts.append(line([f"{x:.1f},{y:.1f}" for x, y in front], "currentColor"))
    for point, (x, y) in zip(points, positions, strict=True):
        tooltip = f"{point.label}: {point.seconds:,.4g} s, {point.value:.1f}"
        parts.append(dot(x, y, 4.5, point.colour, tooltip))
    parts += _point_labels(points, positions, front)
    parts.append(text(FRAME.left + FRAME.plot_width / 2, FRAME.height - 6, x_label, "middle"))
    return svg(FRAME, label, parts)


def _seconds(power: int) -> str:
    return f"{10.0**power:,.{max(0, -power)}f} s"


def _decades(exponents: Sequence[float]) -> Limits:
    """Return integer powers of ten around all points, so that at least two are marked."""
    low, high = math.floor(min(exponents)), math.ceil(max(exponents))
    return float(low), float(max(high, low + 1))


def _pareto_front(points: Sequence[Point], positions: Iterable[XY]) -> list[XY]:
    """Return the coordinates, cheapest first, of the points that beat all cheaper ones, without upper bounds."""
    best, front = -math.inf, []
    cheapest_first = sorted(
        zip(points, positions, strict=True), key=lambda pair: (pair[0].seconds, -pair[0].value)
    )
    for point, position in cheapest_first:
        if not point.is_upper_bound and point.value > best:
            best = point.value
            front.append(position)
    return front


def _point_labels(points: Sequence[Point], positions: Sequence[XY], front: Sequence[XY]) -> list[str]:
    """Return labels that cover neither points, the line nor each other; others are shown only as a tooltip."""
    taken: list[Rectangle] = [(x - 4, y - 4, x + 4, y + 4) for x, y in positions]
    taken += [(x, y, x, y) for start, end in pairwise(front) for x, y in _along(start, end)]
    parts = []
    for point, (x, y) in zip(points, positions, strict=True):
        label = shortened(point.label)
        width = CHARACTER * len(label)
        for dx, dy in ((8, 4), (-8 - width, 4), (-width / 2, -9), (-width / 2, 18), (8, -6), (8, 14)):
            area = (x + dx, y + dy - 10, x + dx + width, y + dy + 2)
            if _is_inside(area) and not any(_overlap(area, other) for other in taken):
                taken.append(area)
                parts.append(text(area[0], y + dy, label, "start", halo=True))
                break
    return parts


def _along(start: XY, end: XY) -> list[XY]:
    """Return points between the two, so close to each other that no label fits between them."""
    count = 1 + int(math.dist(start, end) / 5)
    fractions = [index / count for index in range(1, count)]
    return [(start[0] + t * (end[0] - start[0]), start[1] + t * (end[1] - start[1])) for t in fractions]


def _is_inside(area: Rectangle) -> bool:
    left, top, right, bottom = area
    return FRAME.left < left and right < FRAME.width and top > 0 and bottom < FRAME.floor


def _overlap(one: Rectangle, other: Rectangle) -> bool:
    return one[0] < other[2] and other[0] < one[2] and one[1] < other[3] and other[1] < one[3]
