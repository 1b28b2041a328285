"""Evaluate a downstream model, and put down what a result keeps of it."""

from __future__ import annotations

import json
import logging
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from benchmark.core.paths import write_text
from benchmark.results.result import DownstreamResult
from benchmark.run.training import Trained
from downstream.evaluation.classification_sets import ClassificationSet
from downstream.evaluation.evaluation_sets import EvaluationSet
from downstream.metrics.base import CaptionMetric
from downstream.metrics.metric import Metric, failure
from downstream.models.base import Downstream
from downstream.models.published import Published

if TYPE_CHECKING:
    import torch

log = logging.getLogger(__name__)
EVALUATION = "evaluation"  # the set, and the metric, of an evaluation that failed as a whole


def evaluate_all(
    model: Downstream | Published,
    folder: Path,
    sets: Sequence[EvaluationSet | ClassificationSet],
    metrics: Sequence[CaptionMetric],
    device: torch.device,
) -> dict[str, list[Metric]]:
    """Evaluate a model on every evaluation set that fits it, leave its outputs in `folder`; return metrics by set."""
    log.info("evaluate: %s", model.name if isinstance(model, Downstream) else model.label)
    evaluations = model.evaluate(sets, metrics, folder, device)
    log.info("evaluate: %s", folder)
    return evaluations


def evaluate_trained(
    trained: Trained,
    folder: Path,
    sets: Sequence[EvaluationSet | ClassificationSet],
    metrics: Sequence[CaptionMetric],
    device: torch.device,
) -> DownstreamResult:
    """Return what a result keeps of one trained model; the loss curve goes to ``losses.json`` in `folder`.

    An evaluation that fails is one absent metric, as the training and the other models must not be lost.
    """
    try:
        if trained.report.losses:  # trainings that an older version finished kept none
            write_text(folder / "losses.json", json.dumps(trained.report.losses))
        evaluations = evaluate_all(trained.model, folder, sets, metrics, device)
    except Exception as error:
        reason = failure(f"the evaluation of {trained.model.name}", error)
        evaluations = {EVALUATION: [Metric(EVALUATION, None, reason, 0, "")]}
    report = replace(trained.report, losses=())
    return DownstreamResult(
        str(trained.folder / "model"), report, trained.missing, trained.other_captions, evaluations
    )
