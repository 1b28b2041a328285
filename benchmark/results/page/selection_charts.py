"""Charts of what filters keep: planted noise, lengths, languages, scores."""

from collections.abc import Mapping, Sequence
from itertools import accumulate, pairwise

from benchmark.results.page.plotly_charts import (
    AMBER,
    BLUE,
    BROWN,
    COLOURS,
    GREEN,
    GREY,
    INDIGO,
    ORANGE,
    PINK,
    SKY,
    YELLOW,
    Chart,
    Json,
    Variant,
    axis,
    number,
    row_layout,
    stacked_bars,
)
from benchmark.results.report.leaderboard import Entry
from benchmark.results.selection_summary import Histogram, SelectionSummary

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
