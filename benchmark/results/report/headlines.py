"""The metrics that filters are compared by, and the filter that they have to beat."""

from collections.abc import Sequence
from dataclasses import dataclass

from benchmark.results.report.leaderboard_entries import Entry
from benchmark.results.result import Result

# Downstream model, metric, its name: the metrics that the papers compare filters by, all of them shares.
HEADLINES = (
    ("captioner", "CIDEr", "CIDEr"),
    ("dual_encoder", "text_to_image_R@1", "text-to-image R@1 (%)"),
    ("dual_encoder", "zero_shot", "zero-shot (%)"),
)
REFERENCE = "random"  # the filter that the others have to beat


@dataclass(frozen=True)
class Headline:
    """A metric of a downstream model on one evaluation set, which filters are compared by."""

    model: str
    metric: str
    evaluation: str
    name: str

    @property
    def title(self) -> str:
        """The title of its chart."""
        return f"{self.model} on {self.evaluation}: {self.name}"

    def values(self, entry: Entry) -> list[float]:
        """Return the metric, times 100, of those runs of an entry that have it."""
        values = map(self.value, entry.runs)
        return [value for value in values if value is not None]

    def value(self, run: Result) -> float | None:
        """Return the metric of a run, times 100; None if it has none."""
        trained = run.downstream.get(self.model)
        metrics = trained.evaluations.get(self.evaluation, []) if trained else []
        return next((100 * m.value for m in metrics if m.name == self.metric and m.value is not None), None)


def headlines(entries: Sequence[Entry]) -> list[Headline]:
    """Return the metrics of `HEADLINES` that some entry has, on COCO if possible."""
    available = []
    for model, metric, name in HEADLINES:
        trained = [run.downstream[model] for e in entries for run in e.runs if model in run.downstream]
        sets = {evaluation for result in trained for evaluation in result.evaluations}
        for evaluation in sorted(sets, key=lambda s: (s != "coco", s)):
            headline = Headline(model, metric, evaluation, name)
            if any(headline.values(entry) for entry in entries):
                available.append(headline)
                break
    return available
