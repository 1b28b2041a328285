"""``task=evaluate``: a trained checkpoint, a published model, or published captions, on the evaluation sets."""

from __future__ import annotations

import json
import logging
import re
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from omegaconf import DictConfig, OmegaConf

from benchmark.core.devices import resolve_device
from benchmark.core.errors import UserError
from benchmark.core.launch import is_main_process
from benchmark.core.records import write_record
from benchmark.models.checkpoints import revision
from benchmark.results.provenance import provenance
from benchmark.results.result import Evaluation
from benchmark.run.config import make_pool, recorded, resolved
from benchmark.run.downstream_config import load_evaluation_sets, make_metrics, make_models
from benchmark.run.evaluation import evaluate_all
from benchmark.run.output import Finished, failure_text, print_result
from benchmark.run.preflight import check_before_run
from benchmark.run.run_id import evaluation_identity, portable_hash
from downstream.models.base import Downstream, model_folder
from downstream.models.published import Published, PublishedCaptioner, PublishedCaptions, PublishedClip

if TYPE_CHECKING:
    import torch

log = logging.getLogger(__name__)
SOURCES = ("checkpoint", "captions", "clip.model", "captioner.checkpoint")


@dataclass(frozen=True)
class Candidate:
    """What is evaluated: a loaded model, the name that the report shows, and what its metrics depend on."""

    model: Downstream | Published
    label: str
    identity: dict[str, Any]


def evaluate(cfg: DictConfig) -> Finished | None:
    """Evaluate one model or file of captions, write its record, and print its metrics as JSON."""
    if not is_main_process():
        return None
    check_before_run(cfg)
    device = resolve_device(cfg.device)
    candidate = _candidate(cfg, device)
    if "demo_evalset" in OmegaConf.to_yaml(cfg.evalset):
        make_pool(cfg)  # making the demo's pool also makes its evaluation sets
    config = {"evalset": evaluation_identity(cfg), "metrics": recorded(cfg.metrics)}
    run_id = f"{_slug(candidate.label)}-{portable_hash(candidate.identity | config)}"
    # Not beside the checkpoint: the captions that a run left there are its result's.
    folder = Path(cfg.results_dir) / Evaluation.SCHEMA.folder / run_id
    sets, metrics = load_evaluation_sets(cfg), make_metrics(cfg)
    evaluations = evaluate_all(candidate.model, folder, sets, metrics, device)
    if not evaluations:
        raise UserError(f"no evaluation set fits {candidate.label}; choose others with evalset=...")
    record = Evaluation(run_id, candidate.label, candidate.identity, evaluations, config, **provenance())
    path = write_record(Path(cfg.results_dir), record)
    log.info("evaluate: %s", path)
    printed = {name: [asdict(metric) for metric in found] for name, found in evaluations.items()}
    print_result(json.dumps(printed, indent=2))
    failed = [
        f"{name}/{metric.name}" for name, found in evaluations.items() for metric in found if metric.failed
    ]
    return Finished(path, failure=failure_text(failed, path)) if failed else None


def _candidate(cfg: DictConfig, device: torch.device) -> Candidate:
    """Load what is evaluated. Raises `UserError` unless exactly one thing is named."""
    given = [name for name in SOURCES if OmegaConf.select(cfg.task, name) is not None]
    if len(given) != 1:
        names = ", ".join(f"task.{name}" for name in given) or "none"
        raise UserError(
            f"task=evaluate takes one of {', '.join(f'task.{name}' for name in SOURCES)}, but was given {names}"
        )
    if given == ["checkpoint"]:
        return _trained(cfg, device)
    published: Published
    if given == ["captions"]:
        published = PublishedCaptions(cfg.task.captions)
    elif given == ["clip.model"]:
        published = PublishedClip(**resolved(cfg.task.clip))
    else:
        published = PublishedCaptioner(**resolved(cfg.task.captioner))
    published.load(device)
    return Candidate(published, published.label, published.identity())


def _trained(cfg: DictConfig, device: torch.device) -> Candidate:
    if len(cfg.downstream) != 1:
        raise UserError(
            "task.checkpoint takes one model: add downstream=captioner or downstream=dual_encoder"
        )
    folder = Path(cfg.task.checkpoint)
    if not folder.is_dir():
        raise UserError(f"task.checkpoint={folder} must be a folder that task=train printed")
    ((name, model),) = make_models(cfg).items()
    model.load(folder, device)
    return Candidate(
        model, folder.resolve().name, {"class": name, "revision": revision(model_folder(folder))}
    )


def _slug(label: str) -> str:
    return re.sub(r"[^\w.-]+", "-", label).strip("-.") or "model"
