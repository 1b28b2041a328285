"""Charts of trained models' quality: by size, by cost, while training, by position of a word."""

import math
from collections.abc import Mapping, Sequence
from typing import Any

from benchmark.results.page.estimates import Value, value_of
from benchmark.results.page.plotly_charts import NEUTRAL, Chart, Json, Styles, Variant, axis, number, words
from benchmark.results.report.columns import thousands
from benchmark.results.report.entry_facts import scoring_costs
from benchmark.results.report.leaderboard import Entry, Measure
from benchmark.results.run_folder import Losses

LABELLED = 12  # points of a chart that can have their names next to them
POINTS = 100  # of a loss curve
NGRAMS = {"Unique-1": "words", "Unique-2": "pairs of words", "Unique-4": "4-grams"}


def size_chart(
    key: str, entries: Sequence[Entry], measures: Mapping[str, Measure], styles: Styles
) -> Chart | None:
    """Return each metric over the number of pairs kept; None unless some filter was run at several sizes."""
    by_label: dict[str, list[Entry]] = {}
    for entry in sorted(entries, key=lambda e: e.size):
        by_label.setdefault(entry.label, []).append(entry)
    sizes = sorted({entry.size for entry in entries})
    if max(len(of_label) for of_label in by_label.values()) < 2:
        return None
    ticks = {"tickvals": list(range(len(sizes))), "ticktext": [thousands(size) for size in sizes]}
    variants = []
    for name, measure in measures.items():
        data = []
        for label, of_label in by_label.items():
            if points := [(e.size, value) for e in of_label if (value := value_of(e, measure))]:
                texts = [f"{label}, {thousands(size)}: {_shown(value)}" for size, value in points]
                x = [sizes.index(size) for size, _ in points]
                data.append(_estimates(label, x, [value for _, value in points], texts) | styles[label])
        variants.append(_variant(name, data, 420, axis("size", **ticks), measure.label))
    note = "Size as written for the paper's pool. Bars are the intervals of the table."
    return Chart(key, "Quality against size", note, variants)


def cost_chart(
    key: str, entries: Sequence[Entry], measures: Mapping[str, Measure], styles: Styles
) -> Chart | None:
    """Return each metric over seconds of scoring, with the Pareto front; None if no scoring was timed."""
    variants = []
    costs = scoring_costs(entries)
    for name, measure in measures.items():
        points = [
            (entry, seconds, value)
            for entry in entries
            if (seconds := costs.seconds[entry.label]) and (value := value_of(entry, measure))
        ]
        if not points:
            continue
        competing = [(s, measure.signed(v.value)) for e, s, v in points if not e.is_upper_bound]
        front = [(seconds, measure.signed(best)) for seconds, best in _pareto_front(competing)]
        data: list[Json] = [
            {
                "type": "scatter", "mode": "lines", "x": [x for x, _ in front], "y": [number(y) for _, y in front],
                "line": {"color": NEUTRAL, "shape": "hv", "width": 1.5}, "hoverinfo": "skip", "showlegend": False,
            }
        ]  # fmt: skip
        sides = _label_sides([(math.log10(seconds), v.value) for _, seconds, v in points])
        for (entry, seconds, value), side in zip(points, sides, strict=True):
            text = f"{entry.label}: {seconds:,.4g} s, {_shown(value)}"
            named = len(points) <= LABELLED or (seconds, value.value) in front
            point = _estimates(entry.label, [seconds], [value], [text]) | styles[entry.label]
            mode = {"mode": "markers+text", "text": [words(entry.label)]} if named else {"mode": "markers"}
            place = {"textposition": f"top {side}", "cliponaxis": False, "showlegend": not named}
            data.append(point | mode | place)
        variants.append(_variant(name, data, 440, axis(costs.unit_name, type="log", dtick=1), measure.label))
    note = "The line is the Pareto front: filters that no cheaper one beats, by their values without the intervals."
    note = " ".join([note, *costs.notes])
    return Chart(key, "Quality against the cost of scoring", note, variants) if variants else None


def _pareto_front(points: Sequence[tuple[float, float]]) -> list[tuple[float, float]]:
    """Return the points (cost, value), cheapest first, whose value is above that of all cheaper ones."""
    front: list[tuple[float, float]] = []
    for cost, value in sorted(points, key=lambda point: (point[0], -point[1])):
        if not front or value > front[-1][1]:
            front.append((cost, value))
    return front


def _label_sides(points: Sequence[tuple[float, float]]) -> list[str]:
    """Return the side of each point (x, y) for its label: clear of the right edge and of its neighbour."""
    left, right = min(x for x, _ in points), max(x for x, _ in points)
    near = 0.06 * (max(y for _, y in points) - min(y for _, y in points))
    sides = ["right"] * len(points)
    lower: int | None = None
    for index in sorted(range(len(points)), key=lambda i: points[i][1]):
        x, y = points[index]
        if x > left + 0.7 * (right - left):
            sides[index] = "left"
        if lower is not None and y - points[lower][1] < near and abs(x - points[lower][0]) < 1:
            sides[index] = "right" if sides[lower] == "left" else "left"
        lower = index
    return sides


def training_chart(key: str, curves: Mapping[str, Mapping[str, Losses]], styles: Styles) -> Chart | None:
    """Return the training losses, by model and label; None without any."""
    variants = []
    for model, by_label in curves.items():
        data = []
        for label, losses in by_label.items():
            shown = losses[:: math.ceil(len(losses) / POINTS)] if losses else []
            x = [number(seen) for seen, _ in shown]
            hover = {"hovertemplate": "%{fullData.name}: %{y:.3g} at %{x:,}<extra></extra>"}
            data.append(_line(label, x, [loss for _, loss in shown], line=styles[label]["line"], **hover))
        if any(trace["x"] for trace in data):
            variants.append(_variant(model.replace("_", " "), data, 400, axis("samples seen"), "loss"))
    note = "The loss of each batch that was logged, of the first seed."
    return Chart(key, "Training curves", note, variants) if variants else None


def diversity_chart(key: str, entries: Sequence[Entry], evaluation: str, styles: Styles) -> Chart | None:
    """Return the number of different n-grams at each position of the captions (AVA-Captions, Figure 5)."""
    variants = []
    for name, ngrams in NGRAMS.items():
        data = []
        for entry in entries:
            run, label = entry.runs[0], entry.label
            metrics = [m for model in run.downstream for m in run.metrics(model, evaluation)]
            if curve := next((metric.curve for metric in metrics if metric.name == name), ()):
                positions = list(range(1, len(curve) + 1))
                texts = [f"{label}, position {x}: {y:g}" for x, y in zip(positions, curve, strict=True)]
                hover = {"hovertext": list(map(words, texts)), "hoverinfo": "text"}
                data.append(_line(label, positions, curve, line=styles[label]["line"], **hover))
        if data:
            title = f"different {ngrams}"
            variants.append(_variant(title, data, 400, axis("position in the caption"), title))
    note = f"Of the captions of {evaluation}."
    return Chart(key, "Diversity of captions by position", note, variants) if variants else None


def _variant(name: str, data: list[Json], height: int, x_axis: Json, y_title: str) -> Variant:
    return Variant(name, data, {"height": height, "xaxis": x_axis, "yaxis": axis(y_title)})


def _line(label: str, x: Sequence[float | None], y: Sequence[float], **settings: Any) -> Json:
    line: Json = {"type": "scatter", "mode": "lines", "name": words(label), "meta": label}
    return line | {"x": list(x), "y": list(map(number, y)), **settings}


def _estimates(label: str, x: Sequence[float], values: Sequence[Value], texts: Sequence[str]) -> Json:
    """Return a line through values with their intervals as bars, and a text for each."""
    bars = {
        "type": "data", "symmetric": False, "thickness": 1, "width": 3,
        "array": [number(v.high - v.value) if v.high is not None else 0 for v in values],
        "arrayminus": [number(v.value - v.low) if v.low is not None else 0 for v in values],
    }  # fmt: skip
    hover = {"hovertext": list(map(words, texts)), "hoverinfo": "text"}
    return _line(label, x, [v.value for v in values], error_y=bars, **hover) | {"mode": "lines+markers"}


def _shown(value: Value) -> str:
    return f"{value.text} ({value.note})" if value.note else value.text
