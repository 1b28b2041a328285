"""Trackers log training curves and results: to Weights & Biases, to TensorBoard, or nowhere."""

import io
import statistics
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from PIL import Image

from benchmark.core.progress import CaptionedImage
from benchmark.results.report.leaderboard import REFERENCE
from benchmark.results.result import Result
from benchmark.results.run_folder import Example, GalleryPair, RunFiles

# Names under which trackers log, and the dashboard finds it.
SAMPLES_SEEN, VALIDATION, CAPTIONS, EXAMPLES = "samples_seen", "validation", "captions", "examples"
VERDICT = "verdict"
PAIRS, HISTOGRAM = "selection/pairs", "selection/histogram"
Row = Mapping[str, Any]  # values by column; `thumbnail` is an image, or None


@dataclass(frozen=True)
class RunFacts:
    """A run as it begins."""

    run_id: str
    task: str
    columns: Mapping[str, str | int]  # to group runs by; none has the name of a group of the configuration
    config: Mapping[str, Any]


class Tracker:
    """Logs one run. Its requirements are checked when it is made. By default it does nothing."""

    def start(self, run: RunFacts) -> None:
        """Open the run's log; called before anything else is logged."""

    def log(self, values: Mapping[str, float], step: int | None = None) -> None:
        """Log numbers; `step` is the samples that their model has seen."""

    def log_captions(self, name: str, captions: Sequence[CaptionedImage], step: int) -> None:
        """Log generated captions with their images and references."""
        rows = [{"thumbnail": c.image, "caption": c.caption, "references": c.references} for c in captions]
        self.log_table(name, rows, step)

    def log_table(self, name: str, rows: Sequence[Row], step: int | None = None) -> None:
        """Log rows as a table, if there are any."""

    def finish(
        self, result: Result, folder: Path, references: Sequence[Result], verdict: Sequence[str]
    ) -> None:
        """Log the whole result (its JSON is ``<folder>.json``), and close.

        `folder` has the files of `RunFiles`; `references` are runs of random selection in the same protocol, and
        `verdict` are the lines on all runs of that protocol so far.
        """


class NoTracker(Tracker):
    """Logs nowhere."""


def sample_tables(result: Result, folder: Path) -> dict[str, list[Row]]:
    """Return tables by name: pairs of the pool, and the captions that each trained model wrote for examples."""
    files = RunFiles(folder)
    examples, tables = files.examples(), {PAIRS: [_row(pair) for pair in files.gallery()]}
    for model in result.downstream:
        captions = {name: files.captions(model, name) for name in {e.evaluation for e in examples}}
        tables[f"{model}/{EXAMPLES}"] = [
            {**_row(shown), "caption": captions[shown.evaluation][shown.image]}
            for shown in examples
            if shown.image in captions[shown.evaluation]
        ]
    return tables


def _row(shown: GalleryPair | Example) -> Row:
    """Return the fields, the thumbnail as an image, None if it is empty."""
    jpeg = shown.thumbnail
    return {**vars(shown), "thumbnail": Image.open(io.BytesIO(jpeg)).convert("RGB") if jpeg else None}


def result_values(result: Result, references: Sequence[Result]) -> dict[str, float]:
    """Return every metric that has a value as ``model/evaluation set/metric``, and counts of the kept pairs.

    Its interval, the mean of random selection, and the difference from it follow as ``metric/low`` and so on.
    """
    values = {f"kept/{kind}": float(count) for kind, count in result.kept.items()}
    if result.selection.threshold is not None:
        values["threshold"] = result.selection.threshold
    for row in result.rows:
        if row.metric.value is None:
            continue
        values[row.name] = row.metric.value
        if row.metric.interval:
            values[f"{row.name}/low"], values[f"{row.name}/high"] = row.metric.interval
        same = [other.metric.value for run in references for other in run.rows if other.name == row.name]
        if of_random := [value for value in same if value is not None]:
            values[f"{row.name}/{REFERENCE}"] = statistics.fmean(of_random)
            values[f"{row.name}/above_{REFERENCE}"] = row.metric.value - statistics.fmean(of_random)
    return values
