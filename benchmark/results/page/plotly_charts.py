"""Charts as Plotly reads them, without colours of text and grid, which the page's script takes from the page."""

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from html import escape
from typing import Any

from benchmark.core.sanitize import visible
from benchmark.results.report.leaderboard import REFERENCE, Entry

Json = dict[str, Any]
Styles = Mapping[str, Json]  # lines and markers by label
# Colours that colour-blind people can distinguish (Okabe and Ito 2008), and a grey.
BLUE, ORANGE, SKY, GREEN, PINK = "#0072b2", "#d55e00", "#56b4e9", "#009e73", "#cc79a7"
AMBER, YELLOW, GREY, BROWN, INDIGO = "#e69f00", "#f0e442", "#a0a6ae", "#7a5230", "#4b3f8f"
COLOURS = (BLUE, ORANGE, GREEN, PINK, SKY, AMBER)
DASHES = ("solid", "dash", "dot", "dashdot", "longdash", "longdashdot")
SYMBOLS = ("circle", "square", "diamond", "triangle-up", "x", "star")
NEUTRAL = "#808080"  # is legible on a white and on a black page
ROW = 24  # pixels of a bar with its gap
LEGEND_ABOVE = {"orientation": "h", "y": 1, "yanchor": "bottom", "traceorder": "normal"}


@dataclass(frozen=True)
class Variant:
    """A picture that a chart can show; the reader picks it by its name."""

    name: str
    data: list[Json]
    layout: Json
    note: str = ""  # is shown below it


@dataclass(frozen=True)
class Chart:
    """A chart with a title and at least one variant; `key` is its name within the page."""

    key: str
    title: str
    variants: list[Variant]


def words(text: str) -> str:
    """Return a text that Plotly shows as it is: it takes some HTML tags for formatting."""
    return escape(visible(text), quote=False)


def shortened(label: str) -> str:
    """Return both ends of a label that has more than 26 characters; the tooltip has the whole label."""
    return label if len(label) <= 26 else f"{label[:14]}…{label[-11:]}"


def number(value: float) -> float | None:
    """Return a value with 5 significant digits; None, which leaves a gap, if it is not finite."""
    return float(f"{value:.5g}") if math.isfinite(value) else None


def axis(title: str, **settings: Any) -> Json:
    """Return an axis with a title."""
    return {"title": {"text": words(title)}, "automargin": True, **settings}


def row_layout(labels: Sequence[str], x_axis: Json, **settings: Any) -> Json:
    """Return the layout of a chart with one row per label, the first one on top."""
    y_axis = {
        "tickvals": list(range(len(labels))),
        "ticktext": [words(shortened(label)) for label in labels],
        "range": [len(labels) - 0.5, -0.5],
        "automargin": True,
        "showgrid": False,
        "zeroline": False,
    }
    rows = {"rows": list(labels)}  # for the script, which leaves out rows
    return {"height": 110 + ROW * len(labels), "xaxis": x_axis, "yaxis": y_axis, "meta": rows, **settings}


def line_styles(entries: Iterable[Entry]) -> Styles:
    """Return the line and marker of each label, which 36 competing labels have alone; grey if it does not compete."""
    competing, aside = dict[str, None](), dict[str, str]()
    for entry in entries:
        if entry.label == REFERENCE or not entry.competes:
            aside[entry.label] = "circle-open" if entry.label == REFERENCE else "diamond-open"
        else:
            competing[entry.label] = None
    styles = {label: _style(NEUTRAL, symbol, n) for n, (label, symbol) in enumerate(aside.items(), 1)}
    for index, label in enumerate(competing):
        turn = index // len(COLOURS)
        styles[label] = _style(COLOURS[index % len(COLOURS)], SYMBOLS[turn % len(SYMBOLS)], turn)
    return styles


def _style(colour: str, symbol: str, turn: int) -> Json:
    return {
        "line": {"color": colour, "dash": DASHES[turn % len(DASHES)], "width": 2},
        "marker": {"color": colour, "symbol": symbol},
    }


def stacked_bars(
    name: str, labels: Sequence[str], fractions: Mapping[str, Sequence[float]], colours: Mapping[str, str]
) -> Variant:
    """Return one horizontal bar per label, stacked from the fractions of its parts, which are given by part."""
    data = []
    for part, values in fractions.items():
        percent = [number(100 * value) or 0.0 for value in values]
        texts = [words(f"{label}, {part}: {p:.1f}%") for label, p in zip(labels, percent, strict=True)]
        data.append(
            {
                "type": "bar", "orientation": "h", "name": words(part), "x": percent, "y": list(range(len(labels))),
                "hovertext": texts, "hoverinfo": "text", "marker": {"color": colours.get(part, GREY)},
            }
        )  # fmt: skip
    layout = row_layout(labels, axis("share", ticksuffix="%", range=[0, 100]), barmode="stack")
    return Variant(name, data, layout | {"legend": LEGEND_ABOVE})
