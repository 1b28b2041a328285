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
PAIRS, HISTOGRAM = "selection/pairs", "selection/histogram"
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
                "place": p.place,
                "image": _image(p.thumbnail),
                "caption": p.caption,
                "score": p.score,
                "uid": p.uid,
            }
            for p in files.gallery()
        ]
    }
    for model in result.downstream:
        tables[f"{model}/{EXAMPLES}"] = [
            {
                "evaluation": e.evaluation,
                "image": _image(e.thumbnail),
                "caption": caption,
                "references": e.references,
            }
            for e, caption in files.captioned_examples(model)
        ]
    return tables


def _image(thumbnail: bytes) -> Image.Image | None:
    """Return a JPEG as an image; None without one."""
    return Image.open(io.BytesIO(thumbnail)).convert("RGB") if thumbnail else None


def result_values(result: Result, references: Sequence[Result]) -> dict[str, float]:
    """Return every metric that has a value as ``model/evaluation set/metric``, and counts of the kept pairs.

    Its interval, the mean of random selection, and the difference from it follow as ``metric/low`` and so on.
    """
    values = {f"kept/{kind}": float(count) for kind, count in result.kept.items()}
    if result.selection.threshold is not None:
        values["threshold"] = result.selection.threshold
    of_random = [_metrics(run) for run in references]
    for name, (value, interval) in _metrics(result).items():
        values[name] = value
        if interval:
            values[f"{name}/low"], values[f"{name}/high"] = interval
        if named := [metrics[name][0] for metrics in of_random if name in metrics]:
            values[f"{name}/{REFERENCE}"] = statistics.fmean(named)
            values[f"{name}/above_{REFERENCE}"] = value - statistics.fmean(named)
    return values


def _metrics(result: Result) -> dict[str, tuple[float, tuple[float, float] | None]]:
    """Return the value and the interval of each metric that has a value."""
    return {
        f"{model}/{evaluation}/{metric.name}": (metric.value, metric.interval)
        for model, trained in result.downstream.items()
        for evaluation, metrics in trained.evaluations.items()
        for metric in metrics
        if metric.value is not None
    }
