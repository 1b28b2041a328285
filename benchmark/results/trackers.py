"""Where training curves and results are logged: nowhere, to Weights & Biases, or to TensorBoard."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Protocol

from benchmark.core.metric_logger import CaptionedImage, MetricLogger
from benchmark.results.pictures import Example, read_examples
from benchmark.results.result import Result
from benchmark.results.run_facts import RunFacts
from downstream.metrics.coco_results import read_coco_results

# Names under which trackers log, and the dashboard finds it.
SAMPLES_SEEN, VALIDATION, CAPTIONS, EXAMPLES = "samples_seen", "validation", "captions", "examples"
PAIRS, HISTOGRAM = "selection/pairs", "selection/histogram"


class Tracker(MetricLogger, Protocol):
    """Logs the numbers of one run, and its result. What it needs is checked when it is made, before the run works."""

    def start(self, run: RunFacts) -> None:
        """Open the run's log; called before anything else is logged."""

    def finish(self, result: Result, folder: Path) -> None:
        """Log the whole result and close.

        Args:
            result: the result; its JSON lies beside `folder`.
            folder: the run's folder, with the files that `benchmark.results` reads there.
        """


class NoTracker:
    """Logs nowhere."""

    def start(self, run: RunFacts) -> None:
        """Do nothing."""

    def log(self, values: Mapping[str, float], step: int | None = None) -> None:
        """Do nothing."""

    def log_captions(self, name: str, captions: Sequence[CaptionedImage], step: int) -> None:
        """Do nothing."""

    def finish(self, result: Result, folder: Path) -> None:
        """Do nothing."""


def result_values(result: Result) -> dict[str, float]:
    """Return every metric that has a value as ``model/evaluation set/metric``, and what the selection kept."""
    values = {
        f"{model}/{evaluation}/{metric.name}": metric.value
        for model, trained in result.downstream.items()
        for evaluation, metrics in trained.evaluations.items()
        for metric in metrics
        if metric.value is not None
    }
    kept = {f"kept/{kind}": float(count) for kind, count in result.kept.items()}
    threshold = result.selection.threshold
    return values | kept | ({} if threshold is None else {"threshold": threshold})


def captioned_examples(folder: Path, model: str) -> list[tuple[Example, str]]:
    """Return the examples in the folder of a run that `model` captioned, each with its caption."""
    examples = read_examples(folder)
    captions: dict[tuple[str, str], str] = {}
    for evaluation in {example.evaluation for example in examples}:
        path = folder / model / f"captions_{evaluation}.json"
        if path.is_file():
            captions |= {(evaluation, str(image)): text for image, text in read_coco_results(path).items()}
    return [(e, captions[e.evaluation, e.image]) for e in examples if (e.evaluation, e.image) in captions]
