"""Trackers log training curves and results: to Weights & Biases, to TensorBoard, or nowhere."""

import io
import statistics
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from PIL import Image

from benchmark.core.progress import CaptionedImage
from benchmark.results.protocol import QUICK_TRY, Protocol
from benchmark.results.report.leaderboard import REFERENCE
from benchmark.results.result import Result
from benchmark.results.run_folder import RunFiles

# Names under which trackers log, and the dashboard finds it.
SAMPLES_SEEN, VALIDATION, CAPTIONS, EXAMPLES = "samples_seen", "validation", "captions", "examples"
PAIRS, HISTOGRAM, METRICS = "selection/pairs", "selection/histogram", "metrics"
COLUMNS = ("filter_name", "filter_family", "selector_name", "pool_name", "size_name", "k", "seed")
Row = Mapping[str, Any]  # values by column; an `image` is one of PIL's, or None


@dataclass(frozen=True)
class RunFacts:
    """A run as it begins. Names are names of the chosen configs; `size_name` is as written for the paper's pool."""

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
    protocol: Protocol | None = None  # None for tasks that evaluate nothing

    def columns(self) -> dict[str, str | int]:
        """Return the facts as flat columns; none of them has the name of a group of the configuration."""
        columns: dict[str, str | int] = {name: getattr(self, name) for name in COLUMNS}
        if self.protocol is not None:
            columns["protocol_name"] = self.protocol.name
            columns["protocol_fingerprint"] = self.protocol.fingerprint
        return columns

    def tags(self) -> list[str]:
        """Return pool, filter, size, the published protocol if the run has one, and whether it is a quick try."""
        tags = [self.pool_name, self.filter_name, self.size_name]
        if self.protocol:
            tags += [self.protocol.published or "", QUICK_TRY if self.protocol.is_quick_try else ""]
        return [tag for tag in tags if tag]


class Tracker:
    """Logs one run. Its requirements are checked when it is made. By default it does nothing."""

    def start(self, run: RunFacts) -> None:
        """Open the run's log; called before anything else is logged."""

    def log(self, values: Mapping[str, float], step: int | None = None) -> None:
        """Log numbers; `step` is the samples that their model has seen."""

    def log_captions(self, name: str, captions: Sequence[CaptionedImage], step: int) -> None:
        """Log generated captions with their images and references."""
        self.log_table(name, [vars(captioned) for captioned in captions], step)

    def log_table(self, name: str, rows: Sequence[Row], step: int | None = None) -> None:
        """Log rows as a table, if there are any."""

    def finish(self, result: Result, folder: Path, references: Sequence[Result]) -> None:
        """Log the whole result, whose JSON is ``<folder>.json``, and close.

        `folder` has the files of `RunFiles`; `references` are runs of random selection in the same protocol.
        """


class NoTracker(Tracker):
    """Logs nowhere."""


def sample_tables(result: Result, folder: Path) -> dict[str, list[Row]]:
    """Return tables by name: pairs of the pool, and the captions that each trained model wrote for examples."""
    files = RunFiles(folder)
    tables: dict[str, list[Row]] = {
        PAIRS: [
            {
                "place": pair.place,
                "image": _image(pair.thumbnail),
                "caption": pair.caption,
                "score": pair.score,
                "uid": pair.uid,
            }
            for pair in files.gallery()
        ]
    }
    for model in result.downstream:
        tables[f"{model}/{EXAMPLES}"] = [
            {
                "evaluation": example.evaluation,
                "image": _image(example.thumbnail),
                "caption": caption,
                "references": example.references,
            }
            for example, caption in files.captioned_examples(model)
        ]
    return tables


def _image(thumbnail: bytes) -> Image.Image | None:
    """Return a JPEG as an image; None without one."""
    return Image.open(io.BytesIO(thumbnail)).convert("RGB") if thumbnail else None


def metric_rows(result: Result, references: Sequence[Result]) -> list[dict[str, str | float | None]]:
    """Return a row for each metric that has a value: its interval, random selection's mean, and the difference."""
    rows: list[dict[str, str | float | None]] = []
    for model, trained in result.downstream.items():
        for evaluation, metrics in trained.evaluations.items():
            for metric in metrics:
                if metric.value is None:
                    continue
                named = [
                    other.value
                    for run in references
                    for other in run.metrics(model, evaluation)
                    if other.name == metric.name and other.value is not None
                ]
                random = statistics.fmean(named) if named else None
                above = None if random is None else metric.value - random
                low, high = metric.interval or (None, None)
                facts = {"model": model, "evaluation": evaluation, "metric": metric.name, "unit": metric.unit}
                numbers = {"value": metric.value, "low": low, "high": high, REFERENCE: random}
                rows.append(facts | numbers | {f"above_{REFERENCE}": above})
    return rows


def result_values(result: Result, references: Sequence[Result]) -> dict[str, float]:
    """Return every metric that has a value as ``model/evaluation set/metric``, and counts of the kept pairs.

    Its interval and its comparison with random selection, see `metric_rows`, follow as ``metric/low`` and so on.
    """
    values: dict[str, float] = {}
    for row in metric_rows(result, references):
        name = f"{row['model']}/{row['evaluation']}/{row['metric']}"
        numbers = {key: value for key, value in row.items() if isinstance(value, float)}
        values |= {name if key == "value" else f"{name}/{key}": value for key, value in numbers.items()}
    kept = {f"kept/{kind}": float(count) for kind, count in result.kept.items()}
    threshold = result.selection.threshold
    return values | kept | ({} if threshold is None else {"threshold": threshold})
