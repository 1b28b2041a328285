"""Trackers log training curves and results: to Weights & Biases, to TensorBoard, or nowhere."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from typing import Protocol as Interface

from benchmark.core.metric_logger import CaptionedImage, MetricLogger
from benchmark.results.pictures import Example, read_examples
from benchmark.results.protocol import QUICK_TRY, Protocol
from benchmark.results.result import Result
from downstream.evaluation.captioning import read_coco_results


@dataclass(frozen=True)
class RunFacts:
    """A run as it begins. Names are those of the configs that were chosen.

    Args:
        run_id: a readable name and a hash of what the metrics depend on.
        task: name of the task.
        filter_name: the filter.
        filter_family: the filter's family, empty if its config names none.
        selector_name: the selector.
        pool_name: the pool.
        size_name: pairs to keep as written for the paper's pool, ``200k``.
        k: pairs kept.
        seed: random seed of the run.
        config: the resolved configuration.
        protocol: what the run can be compared by; None for tasks that evaluate nothing.
    """

    run_id: str
    task: str
    filter_name: str
    filter_family: str
    selector_name: str
    pool_name: str
    size_name: str
    k: int
    seed: int
    config: Mapping[str, Any]
    protocol: Protocol | None = None

    def columns(self) -> dict[str, str | int]:
        """Return the facts as flat columns; none of them has the name of a group of the configuration."""
        columns: dict[str, str | int] = {
            "filter_name": self.filter_name,
            "filter_family": self.filter_family,
            "selector_name": self.selector_name,
            "pool_name": self.pool_name,
            "size_name": self.size_name,
            "k": self.k,
            "seed": self.seed,
        }
        if self.protocol is not None:
            columns |= {
                "protocol_name": self.protocol.name,
                "protocol_fingerprint": self.protocol.fingerprint,
            }
        return columns

    def tags(self) -> list[str]:
        """Return pool, filter, size, the published protocol if the run has one, and whether it is a quick try."""
        tags = [self.pool_name, self.filter_name, self.size_name]
        if self.protocol:
            tags += [self.protocol.published or "", QUICK_TRY if self.protocol.is_quick_try else ""]
        return [tag for tag in tags if tag]


# Names under which trackers log, and the dashboard finds it.
SAMPLES_SEEN, VALIDATION, CAPTIONS, EXAMPLES = "samples_seen", "validation", "captions", "examples"
PAIRS, HISTOGRAM = "selection/pairs", "selection/histogram"


class Tracker(MetricLogger, Interface):
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
