"""Charts of a leaderboard as Plotly reads them: quality by size and by cost, selections, scores.

The page's script adds the colours of text and grid, which depend on the page's colour scheme.
"""

import math
from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from html import escape
from itertools import accumulate, pairwise
from typing import Any

import numpy as np

from benchmark.core.sanitize import visible
from benchmark.results.protocol import size_text
from benchmark.results.report.certainty import Compared, RunFolders, compare_entries
from benchmark.results.report.entry_facts import noise_kept, scoring_costs
from benchmark.results.report.frame import chart_measures
from benchmark.results.report.leaderboard import REFERENCE, Entry
from benchmark.results.report.significance import Estimate
from benchmark.results.run_folder import Histogram, SelectionSummary

Json = dict[str, Any]
Styles = Mapping[str, Json]  # lines and markers by label
# Colours that colour-blind people can distinguish (Okabe and Ito 2008), and a grey.
BLUE, ORANGE, SKY, GREEN, PINK = "#0072b2", "#d55e00", "#56b4e9", "#009e73", "#cc79a7"
AMBER, YELLOW, GREY, BROWN, INDIGO, RED = "#e69f00", "#f0e442", "#a0a6ae", "#7a5230", "#4b3f8f", "#a50026"
COLOURS = (BLUE, ORANGE, GREEN, PINK, SKY, AMBER)
DASHES = ("solid", "dash", "dot", "dashdot", "longdash", "longdashdot")
SYMBOLS = ("circle", "square", "diamond", "triangle-up", "x", "star")
NEUTRAL = "#808080"  # is legible on a white and on a black page
ROW = 24  # pixels of a bar with its gap
LEGEND_ABOVE = {"orientation": "h", "y": 1, "yanchor": "bottom", "traceorder": "normal"}
PALE: Json = {"opacity": 0.45}  # a point that has its name only in its tooltip
FRONT = "The line is the Pareto front: filters that no cheaper one beats, by their means."
POINT = "Point at a pale mark for its name."
SMALLER = "Thin lines are smaller budgets; point at a mark for its name."
BEST = "Large marks are not shown to be worse than the best filter and size at their budget."
# Kinds of captions by their grade: first the kinds that describe the picture.
KIND_COLOURS = {
    "concrete": GREEN, "title": SKY, "product": AMBER, "event": ORANGE, "person": BROWN, "web string": GREY,
    "abstract": YELLOW, "news": PINK, "parrot": RED, "mismatched": BLUE, "near duplicate": INDIGO,
}  # fmt: skip
POOL = "the pool"
QUANTILES = (0.05, 0.25, 0.5, 0.75, 0.95)
BOXES = "Boxes are quartiles, whiskers the 5th and 95th percentile, from counts in bins."

Summaries = Mapping[str, SelectionSummary]  # by label


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
        "tickvals": list(range(len(labels))), "ticktext": [words(shortened(label)) for label in labels],
        "range": [len(labels) - 0.5, -0.5], "automargin": True, "showgrid": False, "zeroline": False,
    }  # fmt: skip
    rows = {"rows": list(labels)}  # for the script, which leaves out rows
    return {"height": 110 + ROW * len(labels), "xaxis": x_axis, "yaxis": y_axis, "meta": rows, **settings}


def line_styles(entries: Iterable[Entry]) -> Styles:
    """Return the line and marker of each label: unique for 36 competing labels, grey for the others."""
    aside, styles = {entry.label: entry.aside for entry in entries}, dict[str, Json]()
    for index, label in enumerate(label for label in aside if not aside[label]):
        turn = index // len(COLOURS)
        styles[label] = _style(COLOURS[index % len(COLOURS)], SYMBOLS[turn % len(SYMBOLS)], turn)
    for turn, label in enumerate((label for label in aside if aside[label]), 1):
        styles[label] = _style(NEUTRAL, "circle-open" if label == REFERENCE else "diamond-open", turn)
    return styles


def _style(colour: str, symbol: str, turn: int) -> Json:
    line = {"color": colour, "dash": DASHES[turn % len(DASHES)], "width": 2}
    return {"line": line, "marker": {"color": colour, "symbol": symbol}}


def stacked_bars(
    name: str, labels: Sequence[str], fractions: Mapping[str, Sequence[float]], colours: Mapping[str, str]
) -> Variant:
    """Return one horizontal bar per label, stacked from the fractions of its parts, which are given by part."""
    data, y = list[Json](), list(range(len(labels)))
    for part, values in fractions.items():
        x = [number(100 * value) or 0.0 for value in values]
        texts = [words(f"{label}, {part}: {percent:.1f}%") for label, percent in zip(labels, x, strict=True)]
        bars = {"type": "bar", "orientation": "h", "hovertext": texts, "hoverinfo": "text"}
        data.append(
            bars | {"name": words(part), "x": x, "y": y, "marker": {"color": colours.get(part, GREY)}}
        )
    layout = row_layout(labels, axis("share", ticksuffix="%", range=[0, 100]), barmode="stack")
    return Variant(name, data, layout | {"legend": LEGEND_ABOVE})


def size_chart(key: str, entries: Sequence[Entry], folders: RunFolders, styles: Styles) -> Chart | None:
    """Return each metric over the number of pairs kept: a line per filter and budget, epochs above, the best marked.

    The filters at several sizes, random and no_filter have lines; None without a filter at several sizes.
    """
    sizes = sorted({entry.size for entry in entries})
    times = Counter(label for label, _ in {(entry.label, entry.size) for entry in entries})
    by_size = sorted(entries, key=lambda entry: entry.size)
    labels = dict.fromkeys(entry.label for entry in by_size if times[entry.label] > 1 or entry.unfiltered)
    if max(times.values(), default=0) < 2:
        return None
    scaled = "Sizes are written for the paper's pool." * any(e.size != e.runs[0].k for e in entries)
    near = 0.05 * math.log10(sizes[-1] / sizes[0])  # sizes that a percentage gives differ a little by filter
    named = list[int]()
    for size in sizes:
        if not named or math.log10(size / named[-1]) >= near:
            named.append(size)
    places = [math.log10(size) for size in named]
    span: Json = {
        "range": [places[0] - near, math.log10(sizes[-1]) + 2 * near], "zeroline": False, "tickvals": places,
    }  # fmt: skip
    variants = []
    for name, measure in chart_measures(entries).items():
        having = [entry for entry in by_size if measure.values(entry)]
        budgets = sorted({entry.runs[0].budget(measure.model) for entry in having})
        compared, data, epochs = list[Compared](), list[Json](), list[list[str]]()
        for budget in budgets:
            of_budget = [entry for entry in having if entry.runs[0].budget(measure.model) == budget]
            compared.append(of := compare_entries(measure, of_budget, folders))
            suffix = f", {size_text(budget)}" * (len(budgets) > 1)
            epochs.append([f"{budget / size:.3g}" for size in named])
            for label in labels:
                points = [(e, at) for e in of_budget if e.label == label and (at := of.estimate(e))]
                if points:
                    texts = [f"{label}, {size_text(e.size)}{suffix}: {of.cell(e).whole}" for e, _ in points]
                    x, y = [math.log10(e.size) for e, _ in points], [at for _, at in points]
                    line = _estimates(label, x, y, texts)
                    marks = {"size": [12 if e in of.not_worse else 6 for e, _ in points]}
                    style = styles[label] | {"marker": styles[label]["marker"] | marks}
                    thin = {"line": styles[label]["line"] | {"width": 1}}
                    style |= thin if budget < budgets[-1] else _named(label)
                    if points[0][0].unfiltered:
                        line.pop("meta")  # so that the script never hides it
                    data.append(line | style)
        best = BEST * any(of.not_worse for of in compared)
        note = " ".join(filter(None, [scaled, _bars(compared), best, SMALLER * (len(budgets) > 1)]))
        seen = [" / ".join(of_size) for of_size in zip(*epochs, strict=True)]
        top = "epochs" + f" at budget {' / '.join(map(size_text, budgets))}" * (len(budgets) > 1)
        above = axis(top, **span | {"ticktext": seen, "overlaying": "x", "side": "top", "showgrid": False})
        above["matches"] = "x"
        # An axis without data is not drawn.
        data.append({"type": "scatter", "x": places[:1], "y": [None], "xaxis": "x2", "showlegend": False})
        x_axis = axis("size" if scaled else "pairs kept", **span, ticktext=list(map(size_text, named)))
        variants.append(_variant(name, data, x_axis, measure.label, note, height=460, xaxis2=above))
    return Chart(key, "Quality against size", variants)


def _bars(compared: Iterable[Compared]) -> str:
    """Return what the bars of a chart are; nothing without any."""
    noises = {noise or "over seeds and images" for of in compared for noise in of.noises}
    return f"Bars are 95% intervals {' or '.join(sorted(noises))}." if noises else ""


def cost_chart(
    key: str, entries: Sequence[Entry], folders: RunFolders, styles: Styles, shown: Collection[str]
) -> Chart | None:
    """Return each metric over seconds of scoring, with the Pareto front; None if fewer than two filters compete.

    All filters are points; filters in `shown` and on the front have a name.
    """
    variants = []
    costs = scoring_costs(entries)
    for name, measure in chart_measures(entries).items():
        compared = compare_entries(measure, entries, folders)
        points = [
            (entry, seconds, estimate)
            for entry in entries
            if (seconds := costs.seconds[entry.label]) and (estimate := compared.estimate(entry))
        ]
        competing = [(s, measure.signed(at.mean)) for e, s, at in points if e.competes]
        if len(competing) < 2:
            continue
        front = [(seconds, measure.signed(best)) for seconds, best in _pareto_front(competing)]
        data: list[Json] = [
            {
                "type": "scatter", "mode": "lines", "x": [x for x, _ in front], "y": [number(y) for _, y in front],
                "line": {"color": NEUTRAL, "shape": "hv", "width": 1.5}, "hoverinfo": "skip", "showlegend": False,
            }
        ]  # fmt: skip
        for entry, seconds, estimate in points:
            text = f"{entry.label}: {seconds:,.4g} s, {compared.cell(entry).whole}"
            named = entry.label in shown or (seconds, estimate.mean) in front
            point = _estimates(entry.label, [seconds], [estimate], [text]) | styles[entry.label]
            data.append(point | {"mode": "markers"} | (_named(entry.label) if named else PALE))
        has_pale = any(PALE.items() <= series.items() for series in data)
        note = " ".join(filter(None, [FRONT, POINT * has_pale, _bars([compared]), *costs.notes]))
        x_axis = axis(costs.unit_name, type="log", dtick=1)
        everyone = {"everyone": True}  # for the script, which else draws the filters shown
        variants.append(_variant(name, data, x_axis, measure.label, note, height=440, meta=everyone))
    return Chart(key, "Quality against the cost of scoring", variants) if variants else None


def _pareto_front(points: Sequence[tuple[float, float]]) -> list[tuple[float, float]]:
    """Return the points (cost, value), cheapest first, that have a value above the values of all cheaper points."""
    front: list[tuple[float, float]] = []
    for cost, value in sorted(points, key=lambda point: (point[0], -point[1])):
        if not front or value > front[-1][1]:
            front.append((cost, value))
    return front


def _variant(name: str, data: list[Json], x_axis: Json, y_title: str, note: str, **layout: Any) -> Variant:
    return Variant(name, data, layout | {"xaxis": x_axis, "yaxis": axis(y_title)}, note)


def _estimates(label: str, x: Sequence[float], values: Sequence[Estimate], texts: Sequence[str]) -> Json:
    """Return a line through values with their intervals as bars, and a text for each."""
    ends = [value.interval or (value.mean, value.mean) for value in values]
    bars = {
        "type": "data", "symmetric": False, "thickness": 1, "width": 3,
        "array": [number(high - v.mean) for v, (_, high) in zip(values, ends, strict=True)],
        "arrayminus": [number(v.mean - low) for v, (low, _) in zip(values, ends, strict=True)],
    }  # fmt: skip
    return {
        "type": "scatter", "mode": "lines+markers", "name": words(label), "meta": label, "showlegend": False,
        "x": list(x), "y": [number(v.mean) for v in values], "error_y": bars,
        "hovertext": list(map(words, texts)), "hoverinfo": "text",
    }  # fmt: skip


def _named(label: str) -> Json:
    """Return the settings of a series: the page's script writes its name at its end."""
    return {"customdata": [words(shortened(label))]}


def kept_chart(key: str, entries: Sequence[Entry], summaries: Summaries) -> Chart | None:
    """Return what filters keep, one row per filter, one variant per property."""
    variants, noise = list[Variant](), noise_kept(entries)
    if kinds := {kind for of_label in noise.values() for kind in of_label}:
        order = sorted(kinds, key=lambda kind: ([*KIND_COLOURS, kind].index(kind), kind))
        fractions = {kind: [of_label.get(kind, 0) / 100 for of_label in noise.values()] for kind in order}
        variants.append(stacked_bars("planted kinds of noise", [*noise], fractions, KIND_COLOURS))
    for name in dict.fromkeys(name for summary in summaries.values() for name in summary.histograms):
        counted = {label: s.histograms[name] for label, s in summaries.items() if name in s.histograms}
        if any(sum(histogram.pool) for histogram in counted.values()):
            variants.append(_quantiles(name, counted))
    return Chart(key, "What each filter keeps", variants) if variants else None


def _quantiles(name: str, counted: Mapping[str, Histogram]) -> Variant:
    """Return a box per filter below the box of the pool; none for a filter without values in the bins."""
    first = next(iter(counted.values()))
    boxes = {POOL: _of_counts(first.edges, first.pool)}
    boxes |= {label: _of_counts(of.edges, of.kept) for label, of in counted.items() if sum(of.kept)}
    ends = [list(values) for values in zip(*boxes.values(), strict=True)]
    box = dict(zip(("lowerfence", "q1", "median", "q3", "upperfence"), ends, strict=True))
    trace: Json = {
        "type": "box", "orientation": "h", "y": list(range(len(boxes))), "line": {"color": BLUE, "width": 1.5},
        "name": "", "showlegend": False, **box,
    }  # fmt: skip
    return Variant(name, [trace], row_layout(list(boxes), axis(name)), BOXES)


def _of_counts(edges: Sequence[float], counts: Sequence[int]) -> list[float]:
    """Return `QUANTILES` of values that were counted in bins."""
    below = [0, *accumulate(counts)]
    quantiles = np.interp(np.multiply(QUANTILES, below[-1]), below, edges)
    return [float(f"{quantile:.5g}") for quantile in quantiles]


def score_chart(key: str, label: str, histogram: Histogram, threshold: float | None) -> Chart:
    """Return the scores of the pool and of the kept pairs, with the threshold if it is finite."""
    centres = [number((low + high) / 2) for low, high in pairwise(histogram.edges)]
    widths = [number(high - low) for low, high in pairwise(histogram.edges)]
    data: list[Json] = [
        {
            "type": "bar", "name": name, "x": centres, "width": widths, "y": list(counts),
            "marker": {"color": colour}, "hovertemplate": "%{y:,} pairs at %{x:.4g}",
        }
        for name, counts, colour in ((POOL, histogram.pool, GREY), ("kept", histogram.kept, BLUE))
    ]  # fmt: skip
    x_axis = axis("score", range=[histogram.edges[0], histogram.edges[-1]])
    layout: Json = {"height": 300, "barmode": "overlay", "bargap": 0, "xaxis": x_axis}
    if threshold is not None:
        line = {"color": ORANGE, "dash": "dash", "width": 2}
        ends = {"x0": threshold, "x1": threshold, "yref": "paper", "y0": 0, "y1": 1}
        text = {"text": f"threshold {threshold:.4g}", "yanchor": "bottom", "showarrow": False}
        layout["shapes"] = [ends | {"type": "line", "line": line}]
        layout["annotations"] = [text | {"x": threshold, "y": 1, "yref": "paper"}]
    kinds = {"linear": "linear", "logarithmic": "log"}
    variants = [Variant(n, data, layout | {"yaxis": axis("pairs", type=kinds[n])}) for n in kinds]
    return Chart(key, f"Scores of {label}", variants)
