"""The figures of the leaderboard page. Each is empty where the entries have no data for it."""

import statistics
from collections.abc import Iterable, Sequence
from html import escape

from benchmark.report.bar_charts import Bar, ranked_bars, stacked_rows
from benchmark.report.cost_scatter import Point, cost_scatter
from benchmark.report.headlines import REFERENCE, Headline
from benchmark.report.html_page import legend_html
from benchmark.report.leaderboard_entries import Entry
from benchmark.report.line_charts import counts_by_position
from benchmark.report.svg import (
    AMBER,
    BLUE,
    BROWN,
    GREEN,
    GREY,
    INDIGO,
    ORANGE,
    PINK,
    SKY,
    YELLOW,
    Frame,
    Series,
)

# Kinds of captions by their grade: first those that describe what is seen.
KIND_COLOURS = {
    "concrete": GREEN,
    "title": SKY,
    "product": AMBER,
    "event": ORANGE,
    "person": BROWN,
    "web_string": GREY,
    "abstract": YELLOW,
    "news": PINK,
    "mismatched": BLUE,
    "near_duplicate": INDIGO,
}
BEST_COLOURS = (BLUE, ORANGE, GREEN, PINK)  # of the best filters among the diversity curves
DIVERSITY_FRAME = Frame(400, 250, left=44, right=10, top=10, bottom=38)
NGRAMS = {"Unique-1": "words", "Unique-2": "pairs of words", "Unique-4": "4-grams"}


def ranking_figure(headline: Headline, entries: Sequence[Entry], all_sizes: Sequence[Entry]) -> str:
    """Return ranked bars of `entries` as a figure; empty where none has the metric."""
    bars = headline_bars(headline, entries, all_sizes)
    return _figure(headline.title, bars) if bars else ""


def headline_bars(headline: Headline, entries: Sequence[Entry], all_sizes: Sequence[Entry]) -> str:
    """Return ranked bars of `entries`, on the scale of the entries of all sizes."""
    means = {e.label: statistics.fmean(v) for e in entries if (v := headline.values(e))}
    if not means:
        return ""
    reference = means.get(REFERENCE)
    bars = [_bar(e, headline.values(e), reference) for e in entries if e.label in means]
    others = [_bar(e, v, None) for e in all_sizes if (v := headline.values(e))]
    longest = max(bar.value + (bar.spread or 0.0) for bar in others)
    return ranked_bars(bars, longest, reference, headline.title)


def _bar(entry: Entry, values: Sequence[float], reference: float | None) -> Bar:
    mean = statistics.fmean(values)
    spread = statistics.stdev(values) if len(values) > 1 else None
    number = f"{mean:.1f}" if spread is None else f"{mean:.1f} ± {spread:.1f}"
    return Bar(entry.label, mean, number, _colour(entry, mean, reference), spread, entry.is_upper_bound)


def _colour(entry: Entry, mean: float, reference: float | None) -> str:
    if entry.is_upper_bound:
        return "currentColor"
    if entry.label == REFERENCE:
        return GREY
    return ORANGE if reference is not None and mean <= reference else BLUE


def noise_figure(entries: Sequence[Entry]) -> str:
    """Return the planted kinds of noise that each filter keeps; empty for a pool whose noise is not known."""
    known = [entry for entry in entries if sum(entry.runs[0].kept.values())]
    if not known:
        return ""
    present = {kind for entry in known for kind in entry.runs[0].kept}
    kinds = [kind for kind in KIND_COLOURS if kind in present] + sorted(present - set(KIND_COLOURS))
    series = [(kind.replace("_", " "), KIND_COLOURS.get(kind, GREY)) for kind in kinds]
    shares = [_shares(entry, kinds) for entry in known]
    title = "What each filter keeps"
    chart = stacked_rows([entry.label for entry in known], shares, series, title)
    note = f"Pairs by kind of noise; the number is the share of {series[0][0]} pairs."
    return _figure(title, legend_html(series) + chart, note)


def _shares(entry: Entry, kinds: Iterable[str]) -> list[float]:
    kept = entry.runs[0].kept
    return [kept.get(kind, 0) / sum(kept.values()) for kind in kinds]


def cost_figure(headline: Headline, entries: Sequence[Entry]) -> str:
    """Return quality over seconds of scoring, of the entries whose scoring was timed."""
    timed = [(e, e.runs[0].scoring.seconds, headline.values(e)) for e in entries]
    means = [(entry, seconds, statistics.fmean(v)) for entry, seconds, v in timed if seconds > 0 and v]
    if not means:
        return ""
    reference = next((mean for entry, _, mean in means if entry.label == REFERENCE), None)
    points = [
        Point(entry.label, seconds, mean, _colour(entry, mean, reference), entry.is_upper_bound)
        for entry, seconds, mean in means
    ]
    title = f"Cost against {headline.name}"
    chart = cost_scatter(points, title, "seconds of scoring, summed over workers")
    return _figure(title, chart, "The line joins the filters that no cheaper filter beats.", "broad")


def diversity_figures(headline: Headline, ranked: Sequence[Entry]) -> list[str]:
    """Return the number of different n-grams at each position of the captions (AVA-Captions, Figure 5).

    `ranked` has the best entry first; the best ones, the reference and upper bounds are coloured.
    """
    curves = {e.label: by_name for e in ranked if (by_name := _curves(e, headline.evaluation))}
    if not curves:
        return []
    coloured: list[Series] = [(REFERENCE, AMBER)] * (REFERENCE in curves)
    coloured += [(e.label, "currentColor") for e in ranked if e.is_upper_bound and e.label in curves]
    competing = [label for label in curves if label not in dict(coloured)]
    coloured = [*zip(competing, BEST_COLOURS, strict=False), *coloured]
    others: list[Series] = [(label, GREY) for label in competing[len(BEST_COLOURS) :]]
    series = others + coloured  # drawn in this order, so that grey lines cover none
    legend = legend_html([*coloured, *[("others", GREY)] * bool(others)])
    figures = []
    for name, ngrams in NGRAMS.items():
        rows = [curves[label].get(name, ()) for label, _ in series]
        if any(rows):
            title = f"Different {ngrams} by position"
            chart = counts_by_position(DIVERSITY_FRAME, rows, series, "position in the caption")
            note = f"In the captions of {headline.evaluation}; the best filters by {headline.name} in colour."
            figures.append(_figure(title, legend + chart, note))
    return figures


def _curves(entry: Entry, evaluation: str) -> dict[str, tuple[float, ...]]:
    """Return the curves of the captioner's metrics that have one, by metric."""
    trained = entry.runs[0].downstream.get("captioner")
    metrics = trained.evaluations.get(evaluation, []) if trained else []
    return {metric.name: metric.curve for metric in metrics if metric.curve}


def _figure(title: str, chart: str, note: str = "", style: str = "") -> str:
    small = f"<small>{escape(note)}</small>" if note else ""
    return f'<figure class="{style}"><figcaption>{escape(title)}{small}</figcaption>{chart}</figure>'
