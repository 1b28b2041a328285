"""The figures of the leaderboard: each takes entries of results and is nothing where they have no data for it."""

import json
import statistics
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from html import escape
from pathlib import Path

from benchmark.report.bar_charts import Bar, Point, cost_scatter, ranked_bars, stacked_rows
from benchmark.report.entries import Entry
from benchmark.report.html_page import key
from benchmark.report.svg import (
    AMBER,
    BLUE,
    GREEN,
    GREY,
    ORANGE,
    PINK,
    SKY,
    YELLOW,
    Frame,
    Named,
    counts_by_position,
)

# Downstream model, metric, its name: what the papers compare filters by. All are shares, shown times 100.
HEADLINES = (
    ("captioner", "CIDEr", "CIDEr"),
    ("dual_encoder", "text_to_image_R@1", "text-to-image R@1 (%)"),
    ("dual_encoder", "zero_shot", "zero-shot (%)"),
)
# What the papers want kept comes first, then its copies, then the kinds of noise.
KIND_COLOURS = {
    "concrete": GREEN,
    "near_duplicate": SKY,
    "abstract": YELLOW,
    "product": AMBER,
    "news": PINK,
    "parrot": ORANGE,
    "mismatched": BLUE,
}
BEST_COLOURS = (BLUE, ORANGE, GREEN, PINK)  # of the best filters among the curves
CURVES = Frame(400, 250, left=44, right=10, top=10, bottom=38)
GRAMS = {"Unique-1": "words", "Unique-2": "pairs of words", "Unique-4": "4-grams"}


@dataclass(frozen=True)
class Headline:
    """A metric of a downstream model on the evaluation set that the pool's results have it for."""

    model: str
    metric: str
    evaluation: str
    name: str

    @property
    def title(self) -> str:
        """What its chart is called."""
        return f"{self.model} on {self.evaluation}: {self.name}"

    def values(self, entry: Entry) -> list[float]:
        """Return the metric of an entry's runs, times 100; of those that have it."""
        trained = [run.downstream[self.model] for run in entry.runs if self.model in run.downstream]
        metrics = [metric for found in trained for metric in found.evaluations.get(self.evaluation, [])]
        return [100 * m["value"] for m in metrics if m["name"] == self.metric and m["value"] is not None]


def headlines(entries: Sequence[Entry]) -> list[Headline]:
    """Return the metrics of `HEADLINES` that some entry has, on COCO if it can be."""
    found = []
    for model, metric, name in HEADLINES:
        trained = [run.downstream[model] for e in entries for run in e.runs if model in run.downstream]
        sets = {evaluation for model_ in trained for evaluation in model_.evaluations}
        for evaluation in sorted(sets, key=lambda s: (s != "coco", s)):
            headline = Headline(model, metric, evaluation, name)
            if any(headline.values(entry) for entry in entries):
                found.append(headline)
                break
    return found


def ranking(headline: Headline, entries: Sequence[Entry], of_all_sizes: Sequence[Entry]) -> str:
    """Return ranked bars; their scale is that of all sizes."""
    means = {e.label: statistics.fmean(v) for e in entries if (v := headline.values(e))}
    if not means:
        return ""
    reference = means.get("random")
    bars = [_bar(e, headline.values(e), reference) for e in entries if e.label in means]
    others = [_bar(e, v, None) for e in of_all_sizes if (v := headline.values(e))]
    longest = max(bar.value + (bar.spread or 0.0) for bar in others)
    return _figure(headline.title, ranked_bars(bars, longest, reference, headline.title))


def _bar(entry: Entry, values: Sequence[float], reference: float | None) -> Bar:
    mean = statistics.fmean(values)
    spread = statistics.stdev(values) if len(values) > 1 else None
    words = f"{mean:.1f}" if spread is None else f"{mean:.1f} ± {spread:.1f}"
    return Bar(entry.label, mean, words, _colour(entry, mean, reference), spread, _is_bound(entry))


def _is_bound(entry: Entry) -> bool:
    return entry.runs[0].filter == "oracle"


def _colour(entry: Entry, mean: float, reference: float | None) -> str:
    if _is_bound(entry):
        return "currentColor"
    if entry.label == "random":
        return GREY
    return ORANGE if reference is not None and mean <= reference else BLUE


def kept(entries: Sequence[Entry]) -> str:
    """Return what each filter keeps by planted kind of noise, or nothing for a pool whose noise is not known."""
    known = [entry for entry in entries if sum(entry.runs[0].kept.values())]
    if not known:
        return ""
    present = {kind for entry in known for kind in entry.runs[0].kept}
    kinds = [kind for kind in KIND_COLOURS if kind in present] + sorted(present - set(KIND_COLOURS))
    series = [(kind.replace("_", " "), KIND_COLOURS.get(kind, GREY)) for kind in kinds]
    shares = [_shares(entry, kinds) for entry in known]
    chart = stacked_rows([entry.label for entry in known], shares, series, "what each filter keeps")
    note = f"by kind of noise; the number is the share of {series[0][0]}"
    return _figure("What each filter keeps", key(series) + chart, note)


def _shares(entry: Entry, kinds: Iterable[str]) -> list[float]:
    kept = entry.runs[0].kept
    return [kept.get(kind, 0) / sum(kept.values()) for kind in kinds]


def cost(headline: Headline, entries: Sequence[Entry]) -> str:
    """Return quality over the seconds of scoring, for entries that say what scoring took."""
    timed = [(e, e.runs[0].scoring.get("seconds", 0.0), headline.values(e)) for e in entries]
    means = [(entry, seconds, statistics.fmean(v)) for entry, seconds, v in timed if seconds > 0 and v]
    if not means:
        return ""
    reference = next((mean for entry, _, mean in means if entry.label == "random"), None)
    points = [
        Point(entry.label, seconds, mean, _colour(entry, mean, reference), _is_bound(entry))
        for entry, seconds, mean in means
    ]
    chart = cost_scatter(points, "cost against quality", "seconds of scoring, summed over workers")
    note = "the line joins the filters that no cheaper one beats"
    return _figure(f"Cost against {headline.name}", chart, note, "broad")


def diversity(headline: Headline, ranked: Sequence[Entry]) -> list[str]:
    """Return how many different n-grams begin at each position of the captions (AVA-Captions, Figure 5)."""
    found = {entry.label: curves for entry in ranked if (curves := _curves(entry, headline.evaluation))}
    if not found:
        return []
    shown: list[Named] = [("random", AMBER)] * ("random" in found)
    shown += [(e.label, "currentColor") for e in ranked if _is_bound(e) and e.label in found]
    rivals = [label for label in found if label not in dict(shown)]
    shown = [*zip(rivals, BEST_COLOURS, strict=False), *shown]
    others: list[Named] = [(label, GREY) for label in rivals[len(BEST_COLOURS) :]]
    series = others + shown  # the grey lines first, so that they cover none
    legend = key([*shown, *[("others", GREY)] * bool(others)])
    charts = []
    for name, words in GRAMS.items():
        rows = [found[label].get(name, []) for label, _ in series]
        if any(rows):
            chart = counts_by_position(CURVES, rows, series, "position in the caption")
            note = f"in the captions of {headline.evaluation}; the best by {headline.name} in colour"
            charts.append(_figure(f"Different {words} by position", legend + chart, note))
    return charts


def _curves(entry: Entry, evaluation: str) -> dict[str, list[float]]:
    """Return the diversity by position that evaluation left beside the checkpoint; {} where it is not."""
    trained = entry.runs[0].downstream.get("captioner")
    path = Path(trained.checkpoint).parent / f"diversity_{evaluation}.json" if trained else None
    found: dict[str, list[float]] = {}
    if path and path.is_file():
        found = json.loads(path.read_text(encoding="utf-8"))
    return found


def _figure(title: str, chart: str, note: str = "", kind: str = "") -> str:
    small = f"<small>{escape(note)}</small>" if note else ""
    return f'<figure class="{kind}"><figcaption>{escape(title)}{small}</figcaption>{chart}</figure>'
