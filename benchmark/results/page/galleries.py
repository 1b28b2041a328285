"""A panel for each filter, the captions of all filters side by side, and their thumbnails."""

import base64
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import zip_longest

from benchmark.core.hashes import hash_bytes
from benchmark.results.page.charts import score_chart
from benchmark.results.page.plotly_charts import Chart
from benchmark.results.report.leaderboard import Entry
from benchmark.results.run_folder import Example, Fractions, GalleryPair, RunFiles, SelectionSummary

BUDGET = 4_500_000  # characters of base64 in the page
PLACES = {
    "top": "The highest scores",
    "kept": "Kept: just above the threshold",
    "dropped": "Dropped: just below the threshold",
    "bottom": "The lowest scores",
    "passing": "Kept: some of what passes",
    "failing": "Dropped: some of what fails",
}


class Images:
    """Thumbnails by name, as base64: as many of `wanted`, the most wanted first, as `budget` characters hold."""

    def __init__(self, wanted: Iterable[bytes], budget: int = BUDGET) -> None:
        self.encoded: dict[str, str] = {}
        self.left_out = False
        for name, data in {hash_bytes(data, 12): data for data in wanted if data}.items():
            encoded = base64.b64encode(data).decode()
            if len(encoded) <= budget:
                self.encoded[name] = encoded
                budget -= len(encoded)
            else:
                self.left_out = True

    def name(self, data: bytes) -> str:
        """Return the name of a thumbnail; empty if it is not on the page."""
        name = hash_bytes(data, 12)
        return name if name in self.encoded else ""


@dataclass(frozen=True)
class FilterPanel:
    """One filter: its scores, the words that it prefers, and pairs at four places of its ranking, by their titles."""

    label: str
    family: str
    scores: Chart | None
    words: list[tuple[str, Fractions]]
    pairs: dict[str, list[GalleryPair]]


def filter_panel(
    key: str, entry: Entry, summary: SelectionSummary | None, pairs: Sequence[GalleryPair]
) -> FilterPanel:
    """Return what is shown of one filter; `key` is the name of its chart."""
    run = entry.runs[0]
    scores = score_chart(key, entry.label, summary.scores, run.selection.threshold) if summary else None
    words = list(summary.words.items()) if summary else []
    by_place = {title: [p for p in pairs if p.place == place] for place, title in PLACES.items()}
    shown = {title: of_place for title, of_place in by_place.items() if of_place}
    return FilterPanel(entry.label, run.family, scores, words, shown)


@dataclass(frozen=True)
class CaptionedImage:
    """An evaluation image with its references, and the captions of the filters' models."""

    example: Example
    captions: list[tuple[Entry, str]]


@dataclass(frozen=True)
class CaptionedSet:
    """The images of one evaluation set that one downstream model described."""

    model: str
    evaluation: str
    images: list[CaptionedImage]


def captioned_sets(entries: Sequence[tuple[Entry, RunFiles]]) -> list[CaptionedSet]:
    """Return the generated captions side by side, as in the ICC paper's Figure 4."""
    examples = next((shown for _, files in entries if (shown := files.examples())), [])
    models = dict.fromkeys(model for entry, _ in entries for model in entry.runs[0].downstream)
    sets = []
    for evaluation in dict.fromkeys(example.evaluation for example in examples):
        of_set = [example for example in examples if example.evaluation == evaluation]
        for model in models:
            captions = [(entry, files.captions(model, evaluation)) for entry, files in entries]
            images = [
                CaptionedImage(e, [(entry, texts[e.image]) for entry, texts in captions if e.image in texts])
                for e in of_set
            ]
            if any(image.captions for image in images):
                sets.append(CaptionedSet(model, evaluation, images))
    return sets


def thumbnails(panels: Sequence[FilterPanel], sets: Sequence[CaptionedSet]) -> Iterator[bytes]:
    """Yield the thumbnails, the most wanted first: evaluation images, then a pair of each place of each filter."""
    for captioned in sets:
        yield from (image.example.thumbnail for image in captioned.images)
    for pairs in zip_longest(*(pairs for panel in panels for pairs in panel.pairs.values())):
        yield from (pair.thumbnail for pair in pairs if pair)
