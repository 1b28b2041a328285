"""Charts of trained models' quality: by size and by cost."""

from collections.abc import Collection, Iterable, Mapping, Sequence

from benchmark.results.page.page_tables import Value, value_of
from benchmark.results.page.plotly_charts import (
    NEUTRAL,
    Chart,
    Json,
    Styles,
    Variant,
    axis,
    number,
    shortened,
    words,
)
from benchmark.results.protocol import size_text
from benchmark.results.report.certainty import Compared
from benchmark.results.report.entry_facts import scoring_costs
from benchmark.results.report.leaderboard import Entry

PALE: Json = {"opacity": 0.45}  # a point whose name only its tooltip has
FRONT = "The line is the Pareto front: filters that no cheaper one beats, by their means."
POINT = "Point at a pale mark for its name."


def size_chart(
    key: str, entries: Sequence[Entry], metrics: Mapping[str, Sequence[Compared]], styles: Styles
) -> Chart | None:
    """Return each metric over the number of pairs kept, of filters at several sizes; None without any."""
    by_label: dict[str, list[Entry]] = {}
    for entry in sorted(entries, key=lambda e: e.size):
        by_label.setdefault(entry.label, []).append(entry)
    sizes = sorted({entry.size for entry in entries})
    by_label = {label: of_label for label, of_label in by_label.items() if len(of_label) > 1}
    if not by_label:
        return None
    scaled = "Sizes are written for the paper's pool." if any(e.size != e.runs[0].k for e in entries) else ""
    ticks = {"tickvals": list(range(len(sizes))), "ticktext": [size_text(size) for size in sizes]}
    variants = []
    for name, by_size in metrics.items():
        data = []
        for label, of_label in by_label.items():
            if points := [(e.size, value) for e in of_label if (value := value_of(e, *by_size))]:
                texts = [f"{label}, {size_text(size)}: {_shown(value)}" for size, value in points]
                x = [sizes.index(size) for size, _ in points]
                estimates = _estimates(label, x, [value for _, value in points], texts)
                data.append(estimates | styles[label] | _named(label))
        note = " ".join(filter(None, [scaled, _bars(by_size)]))
        title = "size" if scaled else "pairs kept"
        x_axis = axis(title, range=[-0.1, len(sizes) - 0.9], zeroline=False, **ticks)
        variants.append(_variant(name, data, 420, x_axis, by_size[0].measure.label, note))
    return Chart(key, "Quality against size", variants)


def _bars(compared: Iterable[Compared]) -> str:
    """Return what the bars of a chart are; nothing without any."""
    noises = {noise or "over seeds and images" for of in compared for noise in of.noises}
    return f"Bars are 95% intervals {' or '.join(sorted(noises))}." if noises else ""


def cost_chart(
    key: str,
    entries: Sequence[Entry],
    metrics: Mapping[str, Sequence[Compared]],
    styles: Styles,
    shown: Collection[str],
) -> Chart | None:
    """Return each metric over seconds of scoring, with the Pareto front; None if fewer than two filters compete.

    All filters are points; filters in `shown` and on the front have a name.
    """
    variants = []
    costs = scoring_costs(entries)
    for name, compared in metrics.items():
        measure = compared[0].measure
        points = [
            (entry, seconds, value)
            for entry in entries
            if (seconds := costs.seconds[entry.label]) and (value := value_of(entry, *compared))
        ]
        competing = [(s, measure.signed(v.value)) for e, s, v in points if e.competes]
        if len(competing) < 2:
            continue
        front = [(seconds, measure.signed(best)) for seconds, best in _pareto_front(competing)]
        data: list[Json] = [
            {
                "type": "scatter", "mode": "lines", "x": [x for x, _ in front], "y": [number(y) for _, y in front],
                "line": {"color": NEUTRAL, "shape": "hv", "width": 1.5}, "hoverinfo": "skip", "showlegend": False,
            }
        ]  # fmt: skip
        for entry, seconds, value in points:
            text = f"{entry.label}: {seconds:,.4g} s, {_shown(value)}"
            named = entry.label in shown or (seconds, value.value) in front
            point = _estimates(entry.label, [seconds], [value], [text]) | styles[entry.label]
            data.append(point | {"mode": "markers"} | (_named(entry.label) if named else PALE))
        has_pale = any(PALE.items() <= series.items() for series in data)
        note = " ".join(filter(None, [FRONT, POINT * has_pale, _bars(compared), *costs.notes]))
        x_axis = axis(costs.unit_name, type="log", dtick=1)
        variant = _variant(name, data, 440, x_axis, measure.label, note)
        variant.layout["meta"] = {"everyone": True}  # for the script, which else draws the filters shown
        variants.append(variant)
    return Chart(key, "Quality against the cost of scoring", variants) if variants else None


def _pareto_front(points: Sequence[tuple[float, float]]) -> list[tuple[float, float]]:
    """Return the points (cost, value), cheapest first, whose value is above the values of all cheaper points."""
    front: list[tuple[float, float]] = []
    for cost, value in sorted(points, key=lambda point: (point[0], -point[1])):
        if not front or value > front[-1][1]:
            front.append((cost, value))
    return front


def _variant(name: str, data: list[Json], height: int, x_axis: Json, y_title: str, note: str) -> Variant:
    return Variant(name, data, {"height": height, "xaxis": x_axis, "yaxis": axis(y_title)}, note)


def _estimates(label: str, x: Sequence[float], values: Sequence[Value], texts: Sequence[str]) -> Json:
    """Return a line through values with their intervals as bars, and a text for each."""
    bars = {
        "type": "data", "symmetric": False, "thickness": 1, "width": 3,
        "array": [number(v.high - v.value) if v.high is not None else 0 for v in values],
        "arrayminus": [number(v.value - v.low) if v.low is not None else 0 for v in values],
    }  # fmt: skip
    return {
        "type": "scatter", "mode": "lines+markers", "name": words(label), "meta": label, "showlegend": False,
        "x": list(x), "y": [number(v.value) for v in values], "error_y": bars,
        "hovertext": list(map(words, texts)), "hoverinfo": "text",
    }  # fmt: skip


def _named(label: str) -> Json:
    """Return the settings of a series whose name the page's script writes at its end."""
    return {"customdata": [words(shortened(label))]}


def _shown(value: Value) -> str:
    return f"{value.text} ({value.note})" if value.note else value.text
