"""Parts of charts as SVG: frames, axes, legends, shapes. All text is escaped.

Text and rules take the colour of the page's text, so that charts can be read on light and dark backgrounds.
"""

import math
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from benchmark.core.visible import visible_html

# Colours that colour-blind people tell apart (Okabe and Ito 2008), and a grey.
BLUE, ORANGE, SKY, GREEN, PINK = "#0072b2", "#d55e00", "#56b4e9", "#009e73", "#cc79a7"
AMBER, YELLOW, GREY, BROWN, INDIGO = "#e69f00", "#f0e442", "#a0a6ae", "#7a5230", "#4b3f8f"
TICKS = 5  # approximate number of ticks on an axis

Series = tuple[str, str]  # name in the legend, colour
Limits = tuple[float, float]  # the ends of an axis


@dataclass(frozen=True)
class Frame:
    """The size of a chart and its margins, in SVG units."""

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
        """The y coordinate of the lower end of the plot."""
        return self.height - self.bottom

    def x(self, value: float, limits: Limits) -> float:
        """Return the x coordinate of `value`."""
        low, high = limits
        return self.left + self.plot_width * (value - low) / (high - low)

    def y(self, value: float, limits: Limits) -> float:
        """Return the y coordinate of `value`."""
        low, high = limits
        return self.top + self.plot_height * (1 - (value - low) / (high - low))


WIDE = Frame()
LONGEST_LABEL = 26  # characters; the tooltip has the whole label
CHARACTER = 7.2  # approximate width of one, in a wide font of 12


def padded_limits(values: Sequence[float]) -> Limits:
    """Return the ends of an axis that is a little wider than the values."""
    if not values:
        return 0.0, 1.0
    low, high = min(values), max(values)
    padding = 0.08 * (high - low) or 0.1
    return low - padding, high + padding


def ticks(low: float, high: float) -> list[float]:
    """Return round numbers from `low` to `high`: multiples of 1, 2 or 5 times a power of ten."""
    rough = (high - low) / TICKS
    power = 10 ** math.floor(math.log10(rough))
    step = next(power * times for times in (1, 2, 5, 10) if power * times >= 0.8 * rough)
    first, last = math.ceil(low / step - 1e-9), math.floor(high / step + 1e-9)
    return [round(index * step, 9) for index in range(first, last + 1)]


def axes(frame: Frame, limits: Limits, label: str, *, percent: bool = False) -> str:
    """Return the rules and numbers of the y axis, and the label of the x axis."""
    return rules(frame, limits, percent=percent) + text(
        frame.left + frame.plot_width / 2, frame.height - 6, label, "middle"
    )


def rules(frame: Frame, limits: Limits, *, percent: bool = False) -> str:
    """Return a horizontal rule and its number at each tick."""
    parts = []
    for value in ticks(*limits):
        y = frame.y(value, limits)
        number = f"{100 * value:.0f}%" if percent else f"{value:g}"
        parts.append(rule(frame.left, y, frame.width - frame.right, y))
        parts.append(text(frame.left - 6, y + 4, number, "end"))
    return "".join(parts)


def vertical_rule(frame: Frame, x: float, label: str) -> str:
    """Return a rule over the height of the plot, with a label below."""
    return rule(x, frame.top, x, frame.floor) + text(x, frame.floor + 15, label, "middle")


def legend(series: Sequence[Series]) -> str:
    """Return the names and colours of series in one line, at the top of a `WIDE` chart."""
    parts, x = [], WIDE.left
    for name, colour in series:
        parts.append(box(x, 12, 12, 12, colour) + text(x + 17, 22, name, "start"))
        x += 36 + 7 * len(name)
    return "".join(parts)


def box(x: float, y: float, width: float, height: float, colour: str, *, outlined: bool = False) -> str:
    """Return a filled rectangle, or an outlined one with a dashed edge and a faint fill."""
    style = ' fill-opacity=".12" stroke="currentColor" stroke-dasharray="4 2"' if outlined else ""
    return f'<rect x="{x:.1f}" y="{y:.1f}" width="{width:.1f}" height="{height:.1f}" fill="{colour}"{style}/>'


def dot(x: float, y: float, radius: float, colour: str, title: str) -> str:
    """Return a point with `title` as its tooltip."""
    tooltip = f"<title>{visible_html(title)}</title>"
    return f'<circle cx="{x:.1f}" cy="{y:.1f}" r="{radius:g}" fill="{colour}">{tooltip}</circle>'


def line(points: Iterable[str], colour: str) -> str:
    """Return a line through points, each ``x,y``."""
    return f'<polyline points="{" ".join(points)}" fill="none" stroke="{colour}" stroke-width="1.6"/>'


def rule(x1: float, y1: float, x2: float, y2: float, *, strong: bool = False) -> str:
    """Return a thin line in the colour of the text: faint, or strong and dashed."""
    style = 'stroke-opacity=".7" stroke-dasharray="4 3"' if strong else 'stroke-opacity=".16"'
    return f'<line x1="{x1:.1f}" y1="{y1:.1f}" x2="{x2:.1f}" y2="{y2:.1f}" stroke="currentColor" {style}/>'


def text(x: float, y: float, content: str, anchor: str, *, halo: bool = False) -> str:
    """Return text whose start, middle or end (the `anchor`) lies at (x, y).

    A halo in the colour of the page keeps it readable on a line.
    """
    style = ' paint-order="stroke" stroke="Canvas" stroke-width="3"' if halo else ""
    return f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}"{style}>{visible_html(content)}</text>'


def shortened(label: str) -> str:
    """Return a label that has at most `LONGEST_LABEL` characters."""
    return label if len(label) <= LONGEST_LABEL else label[: LONGEST_LABEL - 1] + "…"


def with_tooltip(title: str, parts: Iterable[str]) -> str:
    """Return `parts` as a group with `title` as its tooltip."""
    return f"<g><title>{visible_html(title)}</title>{''.join(parts)}</g>"


def svg(frame: Frame, label: str, parts: Sequence[str]) -> str:
    """Return a whole chart of the size of `frame`; `label` names it for screen readers."""
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {frame.width:g} {frame.height:g}" role="img"'
        f' aria-label="{visible_html(label)}" font-family="sans-serif" font-size="12" fill="currentColor">'
        f"{''.join(parts)}</svg>"
    )


def picture(title: str, charts: Sequence[tuple[str, str]]) -> str:
    """Return charts with their titles, side by side, as an SVG file that is readable in light and dark pages."""
    width, height = 400 * len(charts), 60 + max(_height(chart) for _, chart in charts)
    parts = [text(12, 24, title, "start")]
    for column, (name, chart) in enumerate(charts):
        left, tall = 400 * column, _height(chart)
        parts.append(text(left + 12, 52, name, "start"))
        parts.append(chart.replace("<svg ", f'<svg x="{left}" y="60" width="400" height="{tall:g}" ', 1))
    # As an <img> it is a document of its own, which follows the reader's light or dark setting by itself.
    dark = "@media(prefers-color-scheme:dark){:root{color:#e6edf3}}"
    style = f":root{{color-scheme:light dark;color:#1f2328}}{dark}"
    return svg(Frame(width, height), title, [f"<style>{style}</style>", *parts]) + "\n"


def _height(chart: str) -> float:
    """Return the height of an SVG whose width is 400."""
    _, _, _, height = re.findall(r'viewBox="([^"]+)"', chart)[0].split()
    return float(height)
