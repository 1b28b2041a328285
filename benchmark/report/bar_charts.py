"""The charts of the leaderboard: ranked bars, stacked rows, and a scatter over a logarithmic axis."""

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import pairwise

from benchmark.report.svg import Frame, Limits, box, dot, line, rule, rules, svg, text, ticks, titled, widened

ROW = 18.0  # the height of a bar and its space
LONGEST = 26  # characters of a label; pointing at its bar shows it whole
CHARACTER = 6.4  # about the width of one, in a font of 12
Place = tuple[float, float]  # from the left, from the top
SCATTER = Frame(820, 440, left=48, right=34, top=14, bottom=44)


@dataclass(frozen=True)
class Bar:
    """A filter's mean, its standard deviation over seeds if there are several, and how it is written.

    `bound` marks an upper bound, which does not compete.
    """

    label: str
    value: float
    words: str
    colour: str
    spread: float | None = None
    bound: bool = False


@dataclass(frozen=True)
class Point:
    """A filter by what it costs, in seconds, and how good it is."""

    label: str
    seconds: float
    value: float
    colour: str
    bound: bool = False


def ranked_bars(bars: Sequence[Bar], longest: float, reference: float | None, label: str) -> str:
    """Return horizontal bars, the largest first, from 0 to `longest`, with a dashed line at `reference`."""
    ranked = sorted(bars, key=lambda bar: -bar.value)
    numbers = max(len(bar.words) for bar in bars)
    frame, limits = _rows_frame([bar.label for bar in bars], numbers), (0.0, longest or 1.0)
    parts = [_upright(frame, frame.x(value, limits), f"{value:g}") for value in ticks(*limits)]
    if reference is not None:
        x = frame.x(reference, limits)
        parts.append(rule(x, frame.top - 2, x, frame.floor, strong=True))
    for place, bar in enumerate(ranked):
        top = frame.top + place * ROW
        parts.append(_label(frame, bar.label, top + ROW / 2))
        parts.append(titled(f"{bar.label}: {bar.words}", _bar(frame, limits, bar, top)))
    return svg(frame, label, parts)


def _bar(frame: Frame, limits: Limits, bar: Bar, top: float) -> list[str]:
    end, middle = frame.x(bar.value, limits), top + ROW / 2
    drawn = box(frame.left, top + 2, max(0.0, end - frame.left), ROW - 4, bar.colour, outlined=bar.bound)
    parts = [drawn]
    if bar.spread is not None:
        low, high = (frame.x(bar.value + sign * bar.spread, limits) for sign in (-1, 1))
        parts.append(
            line([f"{max(low, frame.left):.1f},{middle:.1f}", f"{high:.1f},{middle:.1f}"], "currentColor")
        )
        end = max(end, high)
    return [*parts, text(end + 5, middle + 4, bar.words, "start", halo=True)]


def stacked_rows(
    labels: Sequence[str],
    shares: Sequence[Sequence[float]],
    series: Sequence[tuple[str, str]],
    label: str,
) -> str:
    """Return one bar for each label, of shares that sum to 1, shape (labels, series); the first share is written."""
    frame, limits = _rows_frame(labels, numbers=4), (0.0, 1.0)
    parts = [_upright(frame, frame.x(value, limits), f"{100 * value:.0f}%") for value in (0.0, 0.5, 1.0)]
    for place, (name, row) in enumerate(zip(labels, shares, strict=True)):
        top, start = frame.top + place * ROW, 0.0
        parts.append(_label(frame, name, top + ROW / 2))
        for share, (kind, colour) in zip(row, series, strict=True):
            left = frame.x(start, limits)
            part = box(left, top + 2, frame.x(start + share, limits) - left, ROW - 4, colour)
            parts.append(titled(f"{name}, {kind}: {100 * share:.1f}%", [part]))
            start += share
        parts.append(text(frame.width - frame.right + 5, top + ROW / 2 + 4, f"{100 * row[0]:.0f}%", "start"))
    return svg(frame, label, parts)


def _rows_frame(labels: Sequence[str], numbers: int) -> Frame:
    """Return a frame as high as its rows, with room for the labels and for numbers of so many characters."""
    left = 12 + CHARACTER * max(len(_short(label)) for label in labels)
    return Frame(400, 26 + ROW * len(labels), left=left, right=12 + CHARACTER * numbers, top=4, bottom=22)


def _label(frame: Frame, label: str, middle: float) -> str:
    return titled(label, [text(frame.left - 6, middle + 4, _short(label), "end")])


def _short(label: str) -> str:
    return label if len(label) <= LONGEST else label[: LONGEST - 1] + "…"


def _upright(frame: Frame, x: float, words: str) -> str:
    return rule(x, frame.top, x, frame.floor) + text(x, frame.floor + 15, words, "middle")


def cost_scatter(points: Sequence[Point], label: str, below: str) -> str:
    """Return points over the logarithm of their seconds, and a line through those that none beats at less cost."""
    frame = SCATTER
    exponents = [math.log10(point.seconds) for point in points]
    across, up = _decades(exponents), widened([point.value for point in points])
    places = [(frame.x(e, across), frame.y(p.value, up)) for e, p in zip(exponents, points, strict=True)]
    parts = [rules(frame, up)]
    powers = range(int(across[0]), int(across[1]) + 1)
    parts += [_upright(frame, frame.x(power, across), _seconds(power)) for power in powers]
    front = _front(points, places)
    parts.append(line([f"{x:.1f},{y:.1f}" for x, y in front], "currentColor"))
    for point, (x, y) in zip(points, places, strict=True):
        says = f"{point.label}: {point.seconds:,.4g} s, {point.value:.1f}"
        parts.append(dot(x, y, 4.5, point.colour, says))
    parts += _point_labels(frame, points, places, front)
    parts.append(text(frame.left + frame.plot_width / 2, frame.height - 6, below, "middle"))
    return svg(frame, label, parts)


def _seconds(power: int) -> str:
    return f"{10.0**power:,.{max(0, -power)}f} s"


def _decades(exponents: Sequence[float]) -> Limits:
    """Return whole powers of ten around all points, so that at least two are marked."""
    low, high = math.floor(min(exponents)), math.ceil(max(exponents))
    return float(low), float(max(high, low + 1))


def _front(points: Sequence[Point], places: Iterable[Place]) -> list[Place]:
    """Return the places, cheapest first, of the points that are better than all cheaper ones; no upper bounds."""
    best, front = -math.inf, []
    for point, place in sorted(zip(points, places, strict=True), key=lambda f: (f[0].seconds, -f[0].value)):
        if not point.bound and point.value > best:
            best = point.value
            front.append(place)
    return front


def _point_labels(
    frame: Frame, points: Sequence[Point], places: Sequence[Place], front: Sequence[Place]
) -> list[str]:
    """Return labels where they cover nothing that came before; one that has no room is left to pointing."""
    taken = [(x - 4, y - 4, x + 4, y + 4) for x, y in places]
    taken += [(x, y, x, y) for start, end in pairwise(front) for x, y in _along(start, end)]
    parts = []
    for point, (x, y) in zip(points, places, strict=True):
        words = _short(point.label)
        width = CHARACTER * len(words)
        for dx, dy in ((8, 4), (-8 - width, 4), (-width / 2, -9), (-width / 2, 18), (8, -6), (8, 14)):
            spot = (x + dx, y + dy - 10, x + dx + width, y + dy + 2)
            inside = frame.left < spot[0] and spot[2] < frame.width and spot[1] > 0 and spot[3] < frame.floor
            if inside and not any(_overlap(spot, other) for other in taken):
                taken.append(spot)
                parts.append(text(spot[0], y + dy, words, "start", halo=True))
                break
    return parts


def _along(start: Place, end: Place) -> list[Place]:
    count = 1 + int(math.dist(start, end) / 5)  # so near to each other that no label fits between them
    parts = [step / count for step in range(1, count)]
    return [(start[0] + t * (end[0] - start[0]), start[1] + t * (end[1] - start[1])) for t in parts]


def _overlap(one: tuple[float, ...], other: tuple[float, ...]) -> bool:
    return one[0] < other[2] and other[0] < one[2] and one[1] < other[3] and other[1] < one[3]
