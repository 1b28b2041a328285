"""Charts as SVG, written by hand: stacked bars, lines with points, histograms. All text is escaped.

Text and rules take the colour of the page's text, so that charts can be read on light and on dark ground.
"""

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from html import escape

# Colours that colour-blind people tell apart (Okabe and Ito 2008), and a grey.
BLUE, ORANGE, SKY, GREEN, PINK = "#0072b2", "#d55e00", "#56b4e9", "#009e73", "#cc79a7"
AMBER, YELLOW, GREY = "#e69f00", "#f0e442", "#a0a6ae"
TICKS = 5  # about so many on an axis

Named = tuple[str, str]  # what the legend says, colour
Limits = tuple[float, float]  # where an axis begins and ends


@dataclass(frozen=True)
class Frame:
    """The size of a chart and its margins."""

    width: float = 960
    height: float = 340
    left: float = 56
    right: float = 24
    top: float = 44
    bottom: float = 40

    @property
    def plot_width(self) -> float:
        """The width without margins."""
        return self.width - self.left - self.right

    @property
    def plot_height(self) -> float:
        """The height without margins."""
        return self.height - self.top - self.bottom

    @property
    def floor(self) -> float:
        """Where the plot ends below."""
        return self.height - self.bottom

    def x(self, value: float, limits: Limits) -> float:
        """Return where `value` lies from left to right."""
        low, high = limits
        return self.left + self.plot_width * (value - low) / (high - low)

    def y(self, value: float, limits: Limits) -> float:
        """Return where `value` lies from top to bottom."""
        low, high = limits
        return self.top + self.plot_height * (1 - (value - low) / (high - low))


WIDE = Frame()


def stacked_bars(
    shares: Sequence[Sequence[float]], series: Sequence[Named], titles: Sequence[str], label: str
) -> str:
    """Return bars of shares that sum to 1, shape (bars, series), the first series at the bottom."""
    step = WIDE.plot_width / len(shares)
    parts = [_axes(WIDE, (0.0, 1.0), label, percent=True)]
    for bar, (row, title) in enumerate(zip(shares, titles, strict=True)):
        bottom, boxes = 0.0, []
        for value, (_, colour) in zip(row, series, strict=True):
            top = WIDE.y(bottom + value, (0.0, 1.0))
            height = WIDE.y(bottom, (0.0, 1.0)) - top
            boxes.append(box(WIDE.left + bar * step, top, 0.92 * step, height, colour))
            bottom += value
        parts.append(titled(title, boxes))
    return svg(WIDE, label, [*parts, _legend(series)])


def lines(
    values: Sequence[Sequence[float | None]], series: Sequence[Named], titles: Sequence[str], label: str
) -> str:
    """Return one line for each series of values, shape (series, places); it is broken where a value is None."""
    limits = widened([value for row in values for value in row if value is not None])
    marks = curves(WIDE, limits, values, series, titles)
    return svg(WIDE, label, [_axes(WIDE, limits, label), *marks, _legend(series)])


def counts_by_position(
    frame: Frame, counts: Sequence[Sequence[float]], series: Sequence[Named], label: str
) -> str:
    """Return one line of counts from 0 on for each series, shape (series, positions); positions count from 1."""
    longest = max(len(row) for row in counts)
    limits = (0.0, 1.05 * max(1.0, *(max(row, default=0.0) for row in counts)))
    titles = [f"position {place + 1}" for place in range(longest)]
    parts = [_axes(frame, limits, label), *curves(frame, limits, counts, series, titles)]
    for place in (1, *range(5, longest + 1, 5)):
        x = frame.left + (place - 0.5) * frame.plot_width / longest
        parts.append(text(x, frame.floor + 16, str(place), "middle"))
    return svg(frame, label, parts)


def curves(
    frame: Frame,
    limits: Limits,
    values: Sequence[Sequence[float | None]],
    series: Sequence[Named],
    titles: Sequence[str],
) -> list[str]:
    """Return the lines and points of `values`, shape (series, places), each place in the middle of its part."""
    step = frame.plot_width / max(1, len(titles))
    radius = min(2.4, frame.width / 250)
    parts = []
    for row, (name, colour) in zip(values, series, strict=True):
        pieces: list[list[str]] = [[]]
        for place, value in enumerate(row):
            if value is None:
                pieces.append([])
                continue
            x, y = frame.left + (place + 0.5) * step, frame.y(value, limits)
            pieces[-1].append(f"{x:.1f},{y:.1f}")
            parts.append(dot(x, y, radius, colour, f"{name}, {titles[place]}: {value:.5g}"))
        parts += [line(points, colour) for points in pieces if len(points) > 1]
    return parts


def steps(
    edges: Sequence[float], counts: Sequence[Sequence[int]], series: Sequence[Named], label: str
) -> str:
    """Return histograms over the same bins as outlines: `edges` of shape (b + 1,), `counts` (series, b)."""
    limits = (0.0, float(max(1, max(max(row) for row in counts))))
    width = WIDE.plot_width / (len(edges) - 1)
    parts = [_axes(WIDE, limits, label)]
    for row, (_, colour) in zip(counts, series, strict=True):
        points = []
        for place, count in enumerate(row):
            y, x = WIDE.y(count, limits), WIDE.left + place * width
            points += [f"{x:.1f},{y:.1f}", f"{x + width:.1f},{y:.1f}"]
        parts.append(line(points, colour))
    ends = (edges[0], edges[-1])
    parts += [text(WIDE.x(value, ends), WIDE.floor + 16, f"{value:g}", "middle") for value in ticks(*ends)]
    return svg(WIDE, label, [*parts, _legend(series)])


def widened(values: Sequence[float]) -> Limits:
    """Return where the axis begins and ends: a little wider than the values."""
    if not values:
        return 0.0, 1.0
    low, high = min(values), max(values)
    spare = 0.08 * (high - low) or 0.1
    return low - spare, high + spare


def ticks(low: float, high: float) -> list[float]:
    """Return round numbers from `low` to `high`: multiples of 1, 2 or 5 times a power of ten."""
    rough = (high - low) / TICKS
    power = 10 ** math.floor(math.log10(rough))
    step = next(power * times for times in (1, 2, 5, 10) if power * times >= 0.8 * rough)
    first, last = math.ceil(low / step - 1e-9), math.floor(high / step + 1e-9)
    return [round(place * step, 9) for place in range(first, last + 1)]


def _axes(frame: Frame, limits: Limits, label: str, *, percent: bool = False) -> str:
    return rules(frame, limits, percent=percent) + text(
        frame.left + frame.plot_width / 2, frame.height - 6, label, "middle"
    )


def rules(frame: Frame, limits: Limits, *, percent: bool = False) -> str:
    """Return a horizontal rule and its number at each tick."""
    found = []
    for value in ticks(*limits):
        y = frame.y(value, limits)
        words = f"{100 * value:.0f}%" if percent else f"{value:g}"
        found.append(rule(frame.left, y, frame.width - frame.right, y))
        found.append(text(frame.left - 6, y + 4, words, "end"))
    return "".join(found)


def _legend(series: Sequence[Named]) -> str:
    found, x = [], WIDE.left
    for name, colour in series:
        found.append(box(x, 12, 12, 12, colour) + text(x + 17, 22, name, "start"))
        x += 36 + 7 * len(name)
    return "".join(found)


def box(x: float, y: float, width: float, height: float, colour: str, *, outlined: bool = False) -> str:
    """Return a filled rectangle, or one with a dashed edge and hardly any fill."""
    look = ' fill-opacity=".12" stroke="currentColor" stroke-dasharray="4 2"' if outlined else ""
    return f'<rect x="{x:.1f}" y="{y:.1f}" width="{width:.1f}" height="{height:.1f}" fill="{colour}"{look}/>'


def dot(x: float, y: float, radius: float, colour: str, title: str) -> str:
    """Return a point that says `title` when pointed at."""
    tip = f"<title>{escape(title)}</title>"
    return f'<circle cx="{x:.1f}" cy="{y:.1f}" r="{radius:g}" fill="{colour}">{tip}</circle>'


def line(points: Iterable[str], colour: str) -> str:
    """Return a line through points, each ``x,y``."""
    return f'<polyline points="{" ".join(points)}" fill="none" stroke="{colour}" stroke-width="1.6"/>'


def rule(x1: float, y1: float, x2: float, y2: float, *, strong: bool = False) -> str:
    """Return a thin line in the colour of the text: faint, or strong and dashed."""
    look = 'stroke-opacity=".7" stroke-dasharray="4 3"' if strong else 'stroke-opacity=".16"'
    return f'<line x1="{x1:.1f}" y1="{y1:.1f}" x2="{x2:.1f}" y2="{y2:.1f}" stroke="currentColor" {look}/>'


def text(x: float, y: float, words: str, anchor: str, *, halo: bool = False) -> str:
    """Return `words` at a place; `anchor` says which end of them lies there: start, middle or end.

    A halo in the colour of the page keeps them readable on a line.
    """
    look = ' paint-order="stroke" stroke="Canvas" stroke-width="3"' if halo else ""
    return f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}"{look}>{escape(words)}</text>'


def titled(title: str, parts: Iterable[str]) -> str:
    """Return `parts` as a group that says `title` when pointed at."""
    return f"<g><title>{escape(title)}</title>{''.join(parts)}</g>"


def svg(frame: Frame, label: str, parts: Sequence[str]) -> str:
    """Return a chart of the size of `frame`."""
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {frame.width:g} {frame.height:g}" role="img"'
        f' aria-label="{escape(label)}" font-family="sans-serif" font-size="12" fill="currentColor">'
        f"{''.join(parts)}</svg>"
    )
