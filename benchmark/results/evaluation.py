"""The record of ``task=evaluate``: one model, or published captions, on evaluation sets."""

from dataclasses import dataclass, field
from typing import Any, ClassVar

from benchmark.core.records import Schema
from downstream.metrics.metric import Metric


@dataclass(frozen=True)
class Evaluation:
    """One evaluation without a run.

    Args:
        run_id: a readable name and a hash of what the metrics depend on.
        label: name of the model or of the file of captions.
        identity: what was evaluated: its kind, settings and the revision of its weights.
        evaluations: metrics by evaluation set.
        config: the resolved evaluation sets and metrics.
        git_commit: commit that the code was run from; None outside git.
        versions: versions of Python and libraries by name.
        machine: architecture, cores, GPUs.
        finished: time, in ISO 8601.
    """

    SCHEMA: ClassVar[Schema] = Schema("evaluation", 1, "evaluations", "python -m benchmark task=evaluate ...")

    run_id: str
    label: str
    identity: dict[str, Any]
    evaluations: dict[str, list[Metric]]
    config: dict[str, Any]
    git_commit: str | None = None
    versions: dict[str, str] = field(default_factory=dict)
    machine: str = ""
    finished: str = ""
