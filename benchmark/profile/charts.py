"""Charts of a profile as SVG, written by hand: stacked bars, lines with points, histograms. All text is escaped."""

import math
from collections.abc import Sequence
from html import escape

WIDTH, HEIGHT = 960, 340
LEFT, RIGHT, TOP, BOTTOM = 56, 24, 44, 40  # margins
PLOT_WIDTH, PLOT_HEIGHT = WIDTH - LEFT - RIGHT, HEIGHT - TOP - BOTTOM
TICKS = 5  # about so many on an axis

Named = tuple[str, str]  # what the legend says, colour


def stacked_bars(
    shares: Sequence[Sequence[float]], series: Sequence[Named], titles: Sequence[str], label: str
) -> str:
    """Return bars of shares that sum to 1, shape (bars, series), the first series at the bottom."""
    step = PLOT_WIDTH / len(shares)
    parts = [_axes((0.0, 1.0), label, percent=True)]
    for bar, (row, title) in enumerate(zip(shares, titles, strict=True)):
        bottom, boxes = 0.0, []
        for value, (_, colour) in zip(row, series, strict=True):
            top = _y(bottom + value, 0.0, 1.0)
            height = _y(bottom, 0.0, 1.0) - top
            boxes.append(_box(LEFT + bar * step, top, 0.92 * step, height, colour))
            bottom += value
        parts.append(f"<g><title>{escape(title)}</title>{''.join(boxes)}</g>")
    return _svg(label, series, parts)


def lines(
    values: Sequence[Sequence[float | None]], series: Sequence[Named], titles: Sequence[str], label: str
) -> str:
    """Return one line for each series of values, shape (series, places); it is broken where a value is None."""
    low, high = _range([value for row in values for value in row if value is not None])
    step = PLOT_WIDTH / max(1, len(titles))
    parts = [_axes((low, high), label)]
    for row, (_, colour) in zip(values, series, strict=True):
        pieces: list[list[str]] = [[]]
        for place, value in enumerate(row):
            if value is None:
                pieces.append([])
                continue
            x, y = LEFT + (place + 0.5) * step, _y(value, low, high)
            pieces[-1].append(f"{x:.1f},{y:.1f}")
            tip = f"{escape(titles[place])}: {value:.4f}"
            parts.append(
                f'<circle cx="{x:.1f}" cy="{y:.1f}" r="2.4" fill="{colour}"><title>{tip}</title></circle>'
            )
        parts += [_line(points, colour) for points in pieces if len(points) > 1]
    return _svg(label, series, parts)


def steps(
    edges: Sequence[float], counts: Sequence[Sequence[int]], series: Sequence[Named], label: str
) -> str:
    """Return histograms over the same bins as outlines: `edges` of shape (b + 1,), `counts` (series, b)."""
    high = max(1, max(max(row) for row in counts))
    width = PLOT_WIDTH / (len(edges) - 1)
    parts = [_axes((0.0, float(high)), label)]
    for row, (_, colour) in zip(counts, series, strict=True):
        points = []
        for place, count in enumerate(row):
            y = _y(count, 0.0, high)
            points += [f"{LEFT + place * width:.1f},{y:.1f}", f"{LEFT + (place + 1) * width:.1f},{y:.1f}"]
        parts.append(_line(points, colour))
    for value in _ticks(edges[0], edges[-1]):
        x = LEFT + PLOT_WIDTH * (value - edges[0]) / (edges[-1] - edges[0])
        parts.append(_text(x, HEIGHT - BOTTOM + 16, f"{value:g}", "middle"))
    return _svg(label, series, parts)


def _range(values: Sequence[float]) -> tuple[float, float]:
    """Return where the axis begins and ends: a little wider than the values."""
    if not values:
        return 0.0, 1.0
    low, high = min(values), max(values)
    spare = 0.08 * (high - low) or 0.1
    return low - spare, high + spare


def _ticks(low: float, high: float) -> list[float]:
    """Return round numbers from `low` to `high`: multiples of 1, 2 or 5 times a power of ten."""
    rough = (high - low) / TICKS
    power = 10 ** math.floor(math.log10(rough))
    step = next(power * times for times in (1, 2, 5, 10) if power * times >= rough * 0.999)
    first, last = math.ceil(low / step - 1e-9), math.floor(high / step + 1e-9)
    return [round(place * step, 9) for place in range(first, last + 1)]


def _y(value: float, low: float, high: float) -> float:
    return TOP + PLOT_HEIGHT * (1 - (value - low) / (high - low))


def _axes(limits: tuple[float, float], label: str, *, percent: bool = False) -> str:
    low, high = limits
    found = []
    for value in _ticks(low, high):
        y = _y(value, low, high)
        words = f"{100 * value:.0f}%" if percent else f"{value:g}"
        found.append(f'<line x1="{LEFT}" x2="{WIDTH - RIGHT}" y1="{y:.1f}" y2="{y:.1f}" stroke="#ddd"/>')
        found.append(_text(LEFT - 6, y + 4, words, "end"))
    found.append(_text(LEFT + PLOT_WIDTH / 2, HEIGHT - 6, label, "middle"))
    return "".join(found)


def _legend(series: Sequence[Named]) -> str:
    found, x = [], float(LEFT)
    for name, colour in series:
        found.append(_box(x, 12, 12, 12, colour) + _text(x + 17, 22, name, "start"))
        x += 36 + 7 * len(name)
    return "".join(found)


def _box(x: float, y: float, width: float, height: float, colour: str) -> str:
    return f'<rect x="{x:.1f}" y="{y:.1f}" width="{width:.1f}" height="{height:.1f}" fill="{colour}"/>'


def _line(points: Sequence[str], colour: str) -> str:
    return f'<polyline points="{" ".join(points)}" fill="none" stroke="{colour}" stroke-width="1.6"/>'


def _text(x: float, y: float, words: str, anchor: str) -> str:
    return f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}">{escape(words)}</text>'


def _svg(label: str, series: Sequence[Named], parts: Sequence[str]) -> str:
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" role="img"'
        f' aria-label="{escape(label)}" font-family="sans-serif" font-size="12" fill="#333">'
        f"{''.join(parts)}{_legend(series)}</svg>"
    )
