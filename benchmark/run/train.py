"""``task=train``: score, select and train, without evaluation."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from benchmark.core.distributed import (
    broadcast_from_main,
    main_process_first,
    one_launch,
    require_shared_cache,
)
from benchmark.core.launch import is_main_process
from benchmark.results.trackers import Tracker
from benchmark.run.config import recorded
from benchmark.run.identity import make_run_id, run_facts, training_fingerprint, training_folder
from benchmark.run.job import Job
from benchmark.run.open_samples import AnySubset, open_samples
from benchmark.run.output import print_result
from benchmark.run.plan import OF_REFERENCE, Timings
from benchmark.run.score import score_pairs
from benchmark.run.select import select_pairs
from downstream.evaluation.classification_sets import ClassificationSet
from downstream.evaluation.evaluation_sets import EvaluationSet
from downstream.evaluation.validation import make_validation
from downstream.models.base import Downstream
from downstream.training.train_report import TrainReport, finished

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


def train(job: Job) -> None:
    """Train every downstream model on the subset; print the folder of each."""
    require_shared_cache(job.device)
    if not any(model.training.validate_every for model in job.models.values()):
        job.leave_out_evaluation_sets()
    with main_process_first(job.device):
        _ = job.pool, job.evaluation_sets
    opened = None
    if is_main_process():
        subset, selected = open_samples(job, select_pairs(job, score_pairs(job)))
        opened = subset, selected.selection.sha256
    subset, sha256 = broadcast_from_main(opened, job.device)
    job.tracker.start(run_facts(job, make_run_id(job, subset.captions.sha256), len(subset.epochs[0])))
    for name in job.models:
        print_result(str(train_for(job, name, subset, sha256).folder))


def train_for(job: Job, name: str, subset: AnySubset, sha256: str) -> Trained:
    """Train the job's model `name` on the subset, or load it."""
    settings = recorded(job.cfg.downstream[name])
    seconds, source = Timings(job.results_dir, job.device.type).training(name, settings)
    time = "time unknown"
    if seconds is not None:
        amount = f"{seconds / 3600:,.0f} h" if seconds > 7200 else f"{max(seconds / 60, 1):.0f} min"
        time = f"about {amount} {f'in {OF_REFERENCE}' if source == OF_REFERENCE else 'here'}"
    model, sets = job.models[name], job.evaluation_sets
    return train_model(model, subset, sha256, job.device, job.tracker, sets, time)


def train_model(
    model: Downstream,
    subset: AnySubset,
    sha256: str,
    device: torch.device,
    tracker: Tracker,
    sets: Sequence[EvaluationSet | ClassificationSet],
    time: str = "time unknown",
) -> Trained:
    """Train one downstream model, or load it if the same training has been finished before.

    Args:
        model: the untrained model.
        subset: the selected samples.
        sha256: hash of their uids.
        device: the device of the training.
        tracker: logs the losses.
        sets: evaluation sets; the model is validated on a part of one if its training says so.
        time: how long the training will take, for the log.
    """
    model.validate = make_validation(model, sets)
    fingerprint = training_fingerprint(model, subset.identity(sha256), device.type, subset.captions.sha256)
    folder = training_folder(model, fingerprint)
    with one_launch(folder, device):
        reused = finished(folder, fingerprint) is not None
        if not reused:
            samples, pairs = model.training.samples_seen, len(subset.epochs[0])
            epochs = f"{samples / pairs:,.1f}".removesuffix(".0")
            length = f"{samples:,} samples, {epochs} epochs of {pairs:,} pairs, {time}"
            log.info("%s: %s", model.name, length)
        report = model.train(subset, folder, device, tracker, fingerprint)
    log.info("train: %s", folder)
    if reused:
        for seen, loss in report.losses:
            tracker.log({f"{model.name}/loss": loss}, step=seen)
    other_captions = dict(subset.captions.counts()) if subset.captions.by_uid else {}
    return Trained(model, folder, report, dict(subset.missing), other_captions)
