"""Charts of a leaderboard: quality by size and by cost, what filters keep, their scores."""

from collections.abc import Collection, Iterable, Mapping, Sequence
from itertools import accumulate, pairwise

from benchmark.results.page.plotly_charts import (
    AMBER,
    BLUE,
    BROWN,
    COLOURS,
    GREEN,
    GREY,
    INDIGO,
    NEUTRAL,
    ORANGE,
    PINK,
    SKY,
    YELLOW,
    Chart,
    Json,
    Styles,
    Variant,
    axis,
    number,
    row_layout,
    shortened,
    stacked_bars,
    words,
)
from benchmark.results.protocol import size_text
from benchmark.results.report.certainty import Compared, RunFolders, compare_entries
from benchmark.results.report.entry_facts import scoring_costs
from benchmark.results.report.frame import chart_measures
from benchmark.results.report.leaderboard import Entry
from benchmark.results.report.significance import Estimate
from benchmark.results.run_folder import Histogram, SelectionSummary

PALE: Json = {"opacity": 0.45}  # a point whose name only its tooltip has
FRONT = "The line is the Pareto front: filters that no cheaper one beats, by their means."
POINT = "Point at a pale mark for its name."
# Kinds of captions by their grade: first the kinds that describe the picture.
KIND_COLOURS = {
    "concrete": GREEN, "title": SKY, "product": AMBER, "event": ORANGE, "person": BROWN, "web string": GREY,
    "abstract": YELLOW, "news": PINK, "mismatched": BLUE, "near duplicate": INDIGO,
}  # fmt: skip
POOL, REST = "the pool", "the rest"
MOST_VALUES = 8  # of one kind that have their own colour
QUANTILES = (0.05, 0.25, 0.5, 0.75, 0.95)
BOXES = "Boxes are quartiles, whiskers the 5th and 95th percentile, from counts in bins."

Summaries = Mapping[str, SelectionSummary]  # by label


def size_chart(key: str, entries: Sequence[Entry], folders: RunFolders, styles: Styles) -> Chart | None:
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
    for name, measure in chart_measures(entries).items():
        by_size = [compare_entries(measure, [e for e in entries if e.size == s], folders) for s in sizes]
        data = []
        for label, of_label in by_label.items():
            if points := [(e, of, at) for e in of_label for of in by_size if (at := of.estimate(e))]:
                texts = [f"{label}, {size_text(e.size)}: {of.cell(e).whole}" for e, of, _ in points]
                x = [sizes.index(e.size) for e, *_ in points]
                data.append(
                    _estimates(label, x, [at for *_, at in points], texts) | styles[label] | _named(label)
                )
        note = " ".join(filter(None, [scaled, _bars(by_size)]))
        title = "size" if scaled else "pairs kept"
        x_axis = axis(title, range=[-0.1, len(sizes) - 0.9], zeroline=False, **ticks)
        variants.append(_variant(name, data, 420, x_axis, measure.label, note))
    return Chart(key, "Quality against size", variants)


def _bars(compared: Iterable[Compared]) -> str:
    """Return what the bars of a chart are; nothing without any."""
    noises = {noise or "over seeds and images" for of in compared for noise in of.noises}
    return f"Bars are 95% intervals {' or '.join(sorted(noises))}." if noises else ""


def cost_chart(
    key: str,
    entries: Sequence[Entry],
    folders: RunFolders,
    styles: Styles,
    shown: Collection[str],
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
    """Return the settings of a series whose name the page's script writes at its end."""
    return {"customdata": [words(shortened(label))]}


def kept_chart(key: str, entries: Sequence[Entry], summaries: Summaries) -> Chart | None:
    """Return what filters keep, one row per filter, one variant per property."""
    variants = _noise(entries)
    for name in dict.fromkeys(name for summary in summaries.values() for name in summary.histograms):
        counted = {label: s.histograms[name] for label, s in summaries.items() if name in s.histograms}
        variants += _quantiles(name, counted)
    for name in dict.fromkeys(name for summary in summaries.values() for name in summary.shares):
        variants.append(_fractions(name, {label: s for label, s in summaries.items() if name in s.shares}))
    return Chart(key, "What each filter keeps", variants) if variants else None


def _noise(entries: Sequence[Entry]) -> list[Variant]:
    """Return the planted kinds of noise among the kept pairs; nothing for a pool whose noise is not known."""
    known = [entry for entry in entries if sum(entry.runs[0].kept.values())]
    if not known:
        return []
    kept = [{kind.replace("_", " "): n for kind, n in e.runs[0].kept.items()} for e in known]
    present = {kind for kinds in kept for kind in kinds}
    kinds = [kind for kind in KIND_COLOURS if kind in present] + sorted(present - set(KIND_COLOURS))
    fractions = {kind: [counts.get(kind, 0) / sum(counts.values()) for counts in kept] for kind in kinds}
    return [stacked_bars("planted kinds of noise", [e.label for e in known], fractions, KIND_COLOURS)]


def _quantiles(name: str, counted: Mapping[str, Histogram]) -> list[Variant]:
    """Return a box per filter below the box of the pool; nothing if the histograms are empty."""
    first = next(iter(counted.values()))
    rows = {POOL: _of_counts(first.edges, first.pool)}
    rows |= {label: _of_counts(histogram.edges, histogram.kept) for label, histogram in counted.items()}
    boxes = {label: quantiles for label, quantiles in rows.items() if quantiles}
    if not boxes:
        return []
    ends = [list(values) for values in zip(*boxes.values(), strict=True)]
    box = dict(zip(("lowerfence", "q1", "median", "q3", "upperfence"), ends, strict=True))
    trace: Json = {
        "type": "box", "orientation": "h", "y": list(range(len(boxes))), "line": {"color": BLUE, "width": 1.5},
        "name": "", "showlegend": False, **box,
    }  # fmt: skip
    return [Variant(name, [trace], row_layout(list(boxes), axis(name)), BOXES)]


def _of_counts(edges: Sequence[float], counts: Sequence[int]) -> list[float]:
    """Return `QUANTILES` of values that were counted in bins; nothing without values."""
    total = sum(counts)
    below = [0, *accumulate(counts)]
    quantiles = []
    for quantile in QUANTILES if total else ():
        index = next(i for i, count in enumerate(below[1:]) if count >= quantile * total)
        inside = (quantile * total - below[index]) / (counts[index] or 1)
        quantiles.append(float(f"{edges[index] + inside * (edges[index + 1] - edges[index]):.5g}"))
    return quantiles


def _fractions(name: str, summaries: Summaries) -> Variant:
    """Return the fractions of the most frequent values, of the pool and of each filter."""
    first = next(iter(summaries.values())).shares[name]
    rows = {POOL: {value: of_value.pool for value, of_value in first.items()}}
    rows |= {label: {v: of.kept for v, of in s.shares[name].items()} for label, s in summaries.items()}
    values = {value for row in rows.values() for value in row}
    highest = {value: max(row.get(value, 0.0) for row in rows.values()) for value in values}
    most = sorted(values, key=lambda value: (-highest[value], value))[:MOST_VALUES]
    fractions = {value: [row.get(value, 0.0) for row in rows.values()] for value in most}
    rest = [max(0.0, 1 - sum(row.get(value, 0.0) for value in most)) for row in rows.values()]
    if max(rest) > 0.0005:
        fractions[REST] = rest
    colours = dict(zip(most, (*COLOURS, BROWN, INDIGO), strict=False))
    return stacked_bars(name, list(rows), fractions, colours)


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
    line = {"type": "line", "x0": threshold, "x1": threshold, "yref": "paper", "y0": 0, "y1": 1}
    shape = line | {"line": {"color": ORANGE, "dash": "dash", "width": 2}}
    mark = {"x": threshold, "y": 1, "yref": "paper", "yanchor": "bottom", "showarrow": False}
    layout: Json = {
        "height": 300,
        "barmode": "overlay",
        "bargap": 0,
        "xaxis": axis("score", range=[histogram.edges[0], histogram.edges[-1]]),
    }
    if threshold is not None:
        layout |= {"shapes": [shape], "annotations": [mark | {"text": f"threshold {threshold:.4g}"}]}
    variants = [
        Variant(name, data, layout | {"yaxis": axis("pairs", type=kind)})
        for name, kind in (("linear", "linear"), ("logarithmic", "log"))
    ]
    return Chart(key, f"Scores of {label}", variants)
