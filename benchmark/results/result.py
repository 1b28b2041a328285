"""The records of a run and of an evaluation, which the report reads."""

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, ClassVar, NamedTuple

from benchmark.core.batch import NO_SCORE
from benchmark.core.bounds import OUTSIDE
from benchmark.core.records import Schema
from benchmark.core.source_code import OURS
from benchmark.results.protocol import Protocol
from benchmark.results.provenance import Provenance
from benchmark.results.stopwatch import Stage
from benchmark.selection.manifest import Manifest
from downstream.metrics.metric import Metric
from downstream.training.train_report import TrainReport


@dataclass(frozen=True)
class Contamination:
    """How many pairs have an image that is in an evaluation set."""

    # Pairs of the pool with the bytes of an evaluation image; None for a remote pool, which is not read.
    pool: int | None
    kept: int  # likewise pairs of the selection
    # Pairs of the pool that `NearImages` finds, including pairs with the same bytes; None if it does not look.
    near_pool: int | None = None
    near_kept: int | None = None  # likewise pairs of the selection


class Row(NamedTuple):  # made faster than a dataclass, and a run has a hundred
    """A row of the frame that all tables pivot: a metric of a run's model on an evaluation set."""

    run: "Result | Evaluation"
    model: str  # of an evaluation its label
    evaluation: str
    metric: Metric

    @property
    def name(self) -> str:
        """Its place: ``model/evaluation set/metric``."""
        return f"{self.model}/{self.evaluation}/{self.metric.name}"


def _rows(run: "Result | Evaluation", models: Mapping[str, Mapping[str, Sequence[Metric]]]) -> list[Row]:
    return [
        Row(run, model, evaluation, metric)
        for model, evaluations in models.items()
        for evaluation, metrics in evaluations.items()
        for metric in metrics
    ]


@dataclass(frozen=True)
class Evaluation(Provenance):
    """One evaluation without a run."""

    SCHEMA: ClassVar[Schema] = Schema("evaluation", 2, "evaluations", "python -m benchmark task=evaluate ...")

    run_id: str  # a readable name and a hash of all that the metrics depend on
    label: str
    identity: dict[str, Any]  # kind, settings and revision of weights of the evaluated model
    evaluations: dict[str, list[Metric]]
    config: dict[str, Any]

    @cached_property
    def rows(self) -> list[Row]:
        """All metrics."""
        return _rows(self, {self.label: self.evaluations})


@dataclass(frozen=True)
class DownstreamResult:
    """One trained model."""

    checkpoint: str  # folder of its weights
    training: TrainReport
    missing: dict[str, int]  # samples of the subset that could not be read, counted by reason
    # Counts of samples with other captions than their own, of these captions, and of captions left out, by reason;
    # empty if none were given.
    other_captions: dict[str, int]
    evaluations: dict[str, list[Metric]]


@dataclass(frozen=True)
class Scoring:
    """The cost of making the scores, in this run or an earlier one.

    The stage ``select`` has the time that this run took to score or to read scores, and to select.
    """

    seconds: float  # seconds on the clock, summed over workers
    reused: float  # fraction of score parts that an earlier run had written
    cpu_seconds: float | None = None  # processor seconds; None if they are unknown


@dataclass(frozen=True)
class Result(Provenance):
    """One run."""

    SCHEMA: ClassVar[Schema] = Schema("run", 6, "", "python -m benchmark filter=... size=...")

    run_id: str  # a readable name and a hash of all that the metrics depend on
    protocol: Protocol
    filter: str
    # The filter's family, see `benchmark.results.report.leaderboard`; empty if its config names none.
    family: str
    size: int  # pairs to keep, as written for the paper's pool
    k: int  # pairs kept
    pool: str
    seed: int
    selection: Manifest
    subset: str  # path of the subset file; of the first if there is a file per epoch
    scoring: Scoring
    downstream: dict[str, DownstreamResult]
    stages: dict[str, Stage]
    config: dict[str, Any]
    # Draws that carry each planted kind of noise; empty if the noise is unknown.
    kept: dict[str, int] = field(default_factory=dict)
    # Pairs that have an image of an evaluation set, by its name.
    contamination: dict[str, Contamination] = field(default_factory=dict)
    # Largest resident memory of this process or an ended child; engine workers do not count.
    peak_rss_bytes: int = 0
    # Peak resident memory of engine workers and of processes that preprocess images, added up over processes that ran
    # side by side; 0 if none was started. An upper bound: pages that they share count for each, and the peaks may
    # have been at different times.
    workers_peak_rss_bytes: int = 0
    # What was typed, without credentials; of a sweep the settings of this run. None in records before version 0.3.
    overrides: list[str] | None = None

    def __repr__(self) -> str:
        return f"Result({self.run_id})"

    @property
    def pairs_read(self) -> int:
        """The number of pairs that the filter was given: those within its bounds or not, or without a score."""
        drops, lost = self.selection.drops, sum(self.selection.lost.values())
        outside = sum(n for why, n in drops.items() if why.startswith((NO_SCORE, *OUTSIDE)))
        return self.selection.scored + lost + outside

    @property
    def scale(self) -> int:
        """The size of the paper's pool over the pool's: sizes and budgets are typed for the paper's."""
        return int(self.config.get("pool", {}).get("scale", 1))

    @property
    def typed_filter(self) -> str:
        """The filter as a command takes it: MODULE:NAME for a user's class."""
        module, _, name = str(self.selection.config.get("_target_", "")).rpartition(".")
        is_own = module and module.partition(".")[0] not in OURS and name == self.filter
        return f"{module}:{name}" if is_own else self.filter

    def budget(self, model: str) -> int:
        """Return the number of samples that a model saw, as typed for the paper's pool."""
        return self.downstream[model].training.samples_seen * self.scale

    def scoring_seconds(self, workers: int | None) -> float:
        """Return the seconds of scoring the whole pool; None: a worker per processor of this machine, or the GPU."""
        select = self.stages["select"]  # it may have reused some scores or features
        workers = workers or (os.cpu_count() or 1 if select.device == "cpu" else 1)
        return max(select.wall_seconds, self.scoring.seconds / workers)

    @cached_property
    def rows(self) -> list[Row]:
        """All metrics, model by model."""
        return _rows(self, {model: trained.evaluations for model, trained in self.downstream.items()})

    def metrics(self, model: str, evaluation: str) -> list[Metric]:
        """Return the metrics of a model on an evaluation set; none if the run did not train or evaluate it."""
        return [row.metric for row in self.rows if (row.model, row.evaluation) == (model, evaluation)]

    @property
    def failed_metrics(self) -> list[str]:
        """The metrics that are absent for an unexpected error, as ``model/evaluation set/metric failed: reason``."""
        return [f"{row.name} {row.metric.reason}" for row in self.rows if row.metric.failed]
