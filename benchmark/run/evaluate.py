"""``task=evaluate``: a trained checkpoint, a published model, or published captions, on the evaluation sets."""

from __future__ import annotations

import json
import logging
import re
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

from omegaconf import OmegaConf

from benchmark.core.errors import UserError
from benchmark.core.launch import is_main_process
from benchmark.core.paths import write_text
from benchmark.core.pixel_workers import expect_images
from benchmark.core.records import write_record
from benchmark.models.checkpoints import revision
from benchmark.results.provenance import provenance
from benchmark.results.result import DownstreamResult, Evaluation
from benchmark.run.config import recorded, resolved
from benchmark.run.identity import evaluation_identity, portable_hash
from benchmark.run.job import Job
from benchmark.run.output import Finished, failure_text, print_result
from downstream.metrics.metric import Metric, failure
from downstream.models.base import Downstream, model_folder
from downstream.models.published import Published, PublishedCaptioner, PublishedCaptions, PublishedClip

log = logging.getLogger(__name__)
SOURCES = ("checkpoint", "captions", "clip.model", "captioner.checkpoint")
EVALUATION = "evaluation"  # the set, and the metric, of an evaluation that failed as a whole


# A loaded model to evaluate, the name that the report shows, and all that its metrics depend on.
Candidate = tuple[Downstream | Published, str, dict[str, Any]]


def evaluate(job: Job) -> Finished | None:
    """Evaluate one model or file of captions, write its record, and print its metrics as JSON."""
    if not is_main_process():
        return None
    model, label, identity = _candidate(job)
    config = {"evalset": evaluation_identity(job.cfg), "metrics": recorded(job.cfg.metrics)}
    slug = re.sub(r"[^\w.-]+", "-", label).strip("-.") or "model"
    run_id = f"{slug}-{portable_hash(identity | config)}"
    # Not in the checkpoint's folder: the captions that a run left there are its result's.
    folder = job.results_dir / Evaluation.SCHEMA.folder / run_id
    evaluations = evaluate_model(job, model, folder)
    if not evaluations:
        raise UserError(f"no evaluation set fits {label}; choose others with evalset=...")
    record = Evaluation(run_id, label, identity, evaluations, config, **provenance())
    path = write_record(job.results_dir, record)
    log.info("evaluate: %s", path)
    printed = {name: [asdict(metric) for metric in of_set] for name, of_set in evaluations.items()}
    print_result(json.dumps(printed, indent=2))
    metrics = [(name, metric) for name, of_set in evaluations.items() for metric in of_set]
    failed = [f"{name}/{metric.name} {metric.reason}" for name, metric in metrics if metric.failed]
    return Finished(path, failure=failure_text(failed, path)) if failed else None


def _candidate(job: Job) -> Candidate:
    """Load the model to evaluate. Raises `UserError` unless exactly one is named."""
    task = job.cfg.task
    given = [name for name in SOURCES if OmegaConf.select(task, name) is not None]
    if len(given) != 1:
        names = ", ".join(f"task.{name}" for name in given) or "none"
        raise UserError(
            f"task=evaluate takes one of {', '.join(f'task.{name}' for name in SOURCES)}, but was given {names}"
        )
    if given == ["checkpoint"] and not Path(task.checkpoint).is_dir():
        raise UserError(f"task.checkpoint={task.checkpoint} must be a folder that task=train printed")
    if given != ["captions"]:
        expect_images(max(map(len, job.evaluation_sets), default=0))
    if given == ["checkpoint"]:
        return _trained(job)
    published: Published
    if given == ["captions"]:
        published = PublishedCaptions(task.captions)
    elif given == ["clip.model"]:
        published = PublishedClip(**resolved(task.clip))
    else:
        published = PublishedCaptioner(**resolved(task.captioner))
    published.load(job.device)
    return published, published.label, published.identity()


def _trained(job: Job) -> Candidate:
    if len(job.models) != 1:
        raise UserError(
            "task.checkpoint takes one model: add downstream=NAME, as `--help downstream` lists them"
        )
    folder = Path(job.cfg.task.checkpoint)
    ((name, model),) = job.models.items()
    model.load(folder, job.device)
    return model, folder.resolve().name, {"class": name, "revision": revision(model_folder(folder))}


def evaluate_model(job: Job, model: Downstream | Published, folder: Path) -> dict[str, list[Metric]]:
    """Evaluate a model on every evaluation set that fits it, leave its outputs in `folder`; return metrics by set."""
    log.info("evaluate: %s", model.name if isinstance(model, Downstream) else model.label)
    evaluations = model.evaluate(job.evaluation_sets, job.metrics, folder, job.device)
    log.info("evaluate: %s", folder)
    return evaluations


def evaluate_trained(
    job: Job, model: Downstream, trained: DownstreamResult, folder: Path
) -> DownstreamResult:
    """Return the result of one trained model with its metrics; the loss curve goes to ``losses.json`` in `folder`.

    An evaluation that fails is one absent metric, as the training and the other models must not be lost.
    """
    try:
        if trained.training.losses:
            write_text(folder / "losses.json", json.dumps(trained.training.losses))
        evaluations = evaluate_model(job, model, folder)
    except Exception as error:
        reason = failure(f"the evaluation of {model.name}", error)
        evaluations = {EVALUATION: [Metric(EVALUATION, None, reason, 0, "")]}
    return replace(trained, training=replace(trained.training, losses=()), evaluations=evaluations)
