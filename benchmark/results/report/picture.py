"""The README's picture, an SVG file: the filters ranked by each headline metric, side by side. All text is escaped.

Text and rules take the colour of the page's text, so that the picture can be read on light and dark pages.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass

from benchmark.core.sanitize import visible_html
from benchmark.results.report.certainty import Compared
from benchmark.results.report.leaderboard import REFERENCE

# Colours that colour-blind people can distinguish (Okabe and Ito 2008), and a grey.
BLUE, ORANGE, SKY, GREEN, PINK = "#0072b2", "#d55e00", "#56b4e9", "#009e73", "#cc79a7"
AMBER, YELLOW, GREY, BROWN, INDIGO = "#e69f00", "#f0e442", "#a0a6ae", "#7a5230", "#4b3f8f"
LONGEST_LABEL = 26  # characters; the tooltip has the whole label
CHARACTER = 7.2  # approximate width of a character, in a wide font of 12
WIDTH, ROW, TOP, HEADING = 400, 18.0, 4.0, 60  # of a chart, a bar with the space below it, the space above
TICKS = 5  # approximate number of ticks on an axis
# As an <img> the picture is a separate document, which follows the reader's light or dark setting by itself.
STYLE = (
    "<style>:root{color-scheme:light dark;color:#1f2328}"
    "@media(prefers-color-scheme:dark){:root{color:#e6edf3}}</style>"
)


@dataclass(frozen=True)
class Bar:
    """The bar of one filter: its mean, as text too, and half of its 95% interval; outlined: it does not compete."""

    label: str
    value: float
    number: str
    colour: str
    spread: float | None
    outlined: bool


def draw_picture(title: str, compared: Sequence[Compared]) -> str:
    """Return the whole file, one chart per metric."""
    parts = [STYLE, _text(12, 24, title, "start")]
    heights = []
    for column, of_metric in enumerate(compared):
        bars, name = ranked_bars(of_metric), of_metric.measure.title
        heights.append(26 + ROW * len(bars))
        place = f'x="{WIDTH * column}" y="{HEADING}" width="{WIDTH}" height="{heights[-1]:g}" '
        parts.append(_text(WIDTH * column + 12, 52, name, "start"))
        parts.append(_svg(WIDTH, heights[-1], name, _chart(bars), place))
    return _svg(WIDTH * len(compared), HEADING + max(heights), title, parts) + "\n"


def ranked_bars(compared: Compared) -> list[Bar]:
    """Return a bar per filter, the best mean first, with the intervals of `Estimate.interval`."""
    bars = []
    for index in compared.ranking:
        entry, estimate = compared.entries[index], compared.comparison.estimates[index]
        spread = (estimate.interval[1] - estimate.interval[0]) / 2 if estimate.interval else None
        number = compared.measure.text(estimate.mean)
        number += "" if spread is None else f" ± {compared.measure.text(spread)}"
        colour = _colour(compared, index)
        bars.append(Bar(entry.label, estimate.mean, number, colour, spread, entry.is_upper_bound))
    return bars


def _colour(compared: Compared, index: int) -> str:
    """Return blue for a filter better than random, sky if there are too few seeds to tell, else orange."""
    labels = [entry.label for entry in compared.entries]
    if compared.entries[index].is_upper_bound:
        return "currentColor"
    if labels[index] == REFERENCE or REFERENCE not in labels:
        return GREY
    reference = labels.index(REFERENCE)
    if compared.comparison.better(index, reference):
        return BLUE
    return SKY if compared.comparison.above(index, reference) else ORANGE


def _chart(bars: Sequence[Bar]) -> list[str]:
    """Return horizontal bars with whiskers and numbers, and a dashed line at the reference's value."""
    left = 12 + CHARACTER * max(len(shortened(bar.label)) for bar in bars)
    right = WIDTH - 12 - CHARACTER * max(len(bar.number) for bar in bars)
    longest = max(bar.value + (bar.spread or 0.0) for bar in bars) or 1.0
    scale, floor = (right - left) / longest, TOP + ROW * len(bars)
    parts = []
    for tick in _ticks(longest):
        x = left + scale * tick
        parts += [_rule(x, TOP, floor, 'stroke-opacity=".16"'), _text(x, floor + 15, f"{tick:g}", "middle")]
    for bar in bars:
        if bar.label == REFERENCE:
            x = left + scale * bar.value
            parts.append(_rule(x, TOP - 2, floor, 'stroke-opacity=".7" stroke-dasharray="4 3"'))
    for index, bar in enumerate(bars):
        top, middle = TOP + index * ROW + 2, TOP + (index + 0.5) * ROW
        width = max(0.0, scale * bar.value)
        end = left + scale * (bar.value + (bar.spread or 0.0))
        style = ' fill-opacity=".12" stroke="currentColor" stroke-dasharray="4 2"' if bar.outlined else ""
        shapes = (
            f'<rect x="{left:.1f}" y="{top:.1f}" width="{width:.1f}" height="{ROW - 4:.1f}"'
            f' fill="{bar.colour}"{style}/>'
        )
        if bar.spread is not None:
            low = left + scale * max(0.0, bar.value - bar.spread)
            points = f"{low:.1f},{middle:.1f} {end:.1f},{middle:.1f}"
            shapes += f'<polyline points="{points}" fill="none" stroke="currentColor" stroke-width="1.6"/>'
        halo = ' paint-order="stroke" stroke="Canvas" stroke-width="3"'  # readable on a line
        shapes += _text(end + 5, middle + 4, bar.number, "start", halo)
        parts.append(_tooltip(bar.label, _text(left - 6, middle + 4, shortened(bar.label), "end")))
        parts.append(_tooltip(f"{bar.label}: {bar.number}", shapes))
    return parts


def _ticks(longest: float) -> list[float]:
    """Return round numbers from 0 to `longest`: multiples of 1, 2 or 5 times a power of ten."""
    power = 10 ** math.floor(math.log10(longest / TICKS))
    step = next(power * times for times in (1, 2, 5, 10) if power * times >= 0.8 * longest / TICKS)
    return [round(index * step, 9) for index in range(math.floor(longest / step + 1e-9) + 1)]


def shortened(label: str) -> str:
    """Return a label that has at most `LONGEST_LABEL` characters."""
    return label if len(label) <= LONGEST_LABEL else label[: LONGEST_LABEL - 1] + "…"


def _text(x: float, y: float, content: str, anchor: str, style: str = "") -> str:
    return f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}"{style}>{visible_html(content)}</text>'


def _rule(x: float, top: float, floor: float, style: str) -> str:
    return f'<line x1="{x:.1f}" y1="{top:.1f}" x2="{x:.1f}" y2="{floor:.1f}" stroke="currentColor" {style}/>'


def _tooltip(title: str, shapes: str) -> str:
    return f"<g><title>{visible_html(title)}</title>{shapes}</g>"


def _svg(width: float, height: float, label: str, parts: Sequence[str], place: str = "") -> str:
    return (
        f'<svg {place}xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width:g} {height:g}" role="img"'
        f' aria-label="{visible_html(label)}" font-family="sans-serif" font-size="12" fill="currentColor">'
        f"{''.join(parts)}</svg>"
    )
