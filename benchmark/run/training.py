"""Train a downstream model on a subset, or load the same training that was finished before."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from benchmark.core.hashes import hash_json
from benchmark.core.launch import one_launch
from benchmark.core.paths import cache_folder
from benchmark.pool.subset import Subset
from benchmark.results.trackers import Tracker
from downstream.evaluation.classification_sets import ClassificationSet
from downstream.evaluation.evaluation_sets import EvaluationSet
from downstream.evaluation.validation import make_validation
from downstream.models.base import Downstream, Trainable
from downstream.training.checkpointing import finished
from downstream.training.train_report import TrainReport

if TYPE_CHECKING:
    import torch

log = logging.getLogger(__name__)


@dataclass(frozen=True)
class Trained:
    """A trained downstream model and the folder of the training.

    `report`, `missing` and `other_captions` are those of `DownstreamResult`.
    """

    model: Downstream
    folder: Path
    report: TrainReport
    missing: dict[str, int]
    other_captions: dict[str, int]


def train(
    model: Downstream,
    subset: Subset,
    sha256: str,
    device: torch.device,
    tracker: Tracker,
    sets: Sequence[EvaluationSet | ClassificationSet],
) -> Trained:
    """Train one downstream model, or load it if the same training has been finished before.

    Args:
        model: the untrained model.
        subset: the selected samples.
        sha256: hash of their uids.
        device: where it is trained.
        tracker: where losses are logged.
        sets: evaluation sets, on a part of one of which the model is validated if its training says so.
    """
    model.validate = make_validation(model, sets)
    identity = subset.identity(sha256)
    fingerprint = training_fingerprint(model, identity, device.type, subset.captions.sha256)
    folder = cache_folder("trained", f"{model.name}-{fingerprint}")
    with one_launch(folder, device):
        reused = finished(folder, fingerprint) is not None
        report = model.train(subset, folder, device, tracker, fingerprint)
    log.info("train: %s", folder)
    if reused:
        for seen, loss in report.losses:
            tracker.log({f"{model.name}/loss": loss}, step=seen)
    other_captions = dict(subset.captions.counts()) if subset.captions.by_uid else {}
    return Trained(model, folder, report, dict(subset.missing), other_captions)


def training_fingerprint(
    model: Trainable, subset_sha256: str, device: str, captions_sha256: str | None = None
) -> str:
    """Return a hash of what a training depends on: model, recipe, precision, weights, subset, device, captions.

    Args:
        model: its identity has all settings, and weights by their revision, wherever they lie.
        subset_sha256: hash of the selected uids.
        device: ``"cpu"`` or ``"cuda"``; they differ in rounding, and in their usual precision.
        captions_sha256: hash of the other captions; None without any.
    """
    parts = [subset_sha256, model.identity(), device, *([captions_sha256] if captions_sha256 else [])]
    precision = model.training.precision_on(device)
    if precision != ("bf16" if device == "cuda" else "fp32"):  # the default of every key so far
        parts.append({"precision": precision})
    return hash_json(parts, 16)
