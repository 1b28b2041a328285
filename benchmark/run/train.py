"""``task=train``: score, select and train, without evaluation."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from benchmark.core.distributed import broadcast_from_main, copy_from_main, one_launch, same_folder
from benchmark.core.errors import UserError
from benchmark.core.hashes import hash_text
from benchmark.core.launch import is_first_to_end, is_main_process, process_count
from benchmark.core.paths import cache_dir, cache_folder, user_path
from benchmark.core.storage import is_remote
from benchmark.results.result import DownstreamResult
from benchmark.results.trackers import Tracker
from benchmark.run.identity import (
    make_run_id,
    run_facts,
    training_fingerprint,
    training_folder,
    training_input,
)
from benchmark.run.job import Job
from benchmark.run.open_samples import AnySubset, open_samples
from benchmark.run.output import print_result
from benchmark.run.score import score_pairs
from benchmark.run.select import select_pairs
from downstream.evaluation.classification_sets import ClassificationSet
from downstream.evaluation.evaluation_sets import EvaluationSet
from downstream.evaluation.validation import make_validation
from downstream.models.base import Trainable
from downstream.training.train_report import finished

if TYPE_CHECKING:
    import torch

log = logging.getLogger(__name__)


def train(job: Job) -> None:
    """Train every downstream model on the subset; print the folder of each."""
    if not job.validates:
        job.leave_out_evaluation_sets()
    find_pool(job)
    for model in job.models.values():
        model.tried()
    opened = None
    if is_main_process():
        _ = job.evaluation_sets
        subset, selected = open_samples(job, select_pairs(job, score_pairs(job)))
        opened = subset, training_input(job, selected.selection.sha256)
    subset, sha256 = broadcast_from_main(opened, job.device)
    reach_tars(subset, job.device)
    job.tracker.start(run_facts(job, make_run_id(job, subset.captions.sha256), len(subset.epochs[0])))
    for name in job.models:
        print_result(str(Path(train_for(job, name, subset, sha256).checkpoint).parent))


def find_pool(job: Job) -> None:
    """Find or draw the pool in the main process. Its local tars must be on all nodes, unless a stream is read."""
    device = job.device  # an absent device is refused before a pool is drawn
    tars = [tar.path for tar in job.pool.tars] if is_main_process() and job.pool.is_local else []
    require_seen(tars if job.cfg.training.source == "index" else [], device)


def require_seen(paths: Sequence[Path], device: torch.device) -> None:
    """Raise `UserError` on a node of a launch that lacks a file of the main process, unless it is in the cache."""
    outside = [path for path in paths if process_count() > 1 and not path.is_relative_to(cache_dir())]
    sizes = broadcast_from_main({path: path.stat().st_size for path in outside if is_main_process()}, device)
    for path, size in sizes.items():
        if not path.is_file() or path.stat().st_size != size:
            error = UserError(
                f"{path}, a tar of the pool, must be the same file on all nodes of the launch; put the pool on a disk"
                " or s3:// URL that all of them read, or set training.source=stream"
            )
            raise error if is_first_to_end() else SystemExit(2)


def reach_tars(subset: AnySubset, device: torch.device) -> None:
    """Copy the tars of the main process's subset that are in its cache, drawn or fetched, into the other caches."""
    local = {url: user_path(url) for url in subset.urls if not is_remote(url)}
    require_seen(list(local.values()), device)
    cached = {url: path for url, path in local.items() if path.is_relative_to(cache_dir())}
    places = broadcast_from_main(cached, device)
    if 0 not in same_folder(device):
        copies = cache_folder("subsets", "copies")
        places = {url: copies / f"{hash_text(url, 32)}.tar" for url in places}
    subset.urls = [str(places.get(url, url)) for url in subset.urls]
    copy_from_main(list(places.values()), device)


def train_for(job: Job, name: str, subset: AnySubset, sha256: str) -> DownstreamResult:
    """Train the job's model `name` on the subset, or load it."""
    sets = job.evaluation_sets if is_main_process() else []
    return train_model(job.models[name], subset, sha256, job.device, job.tracker, sets)


def train_model(
    model: Trainable,
    subset: AnySubset,
    sha256: str,
    device: torch.device,
    tracker: Tracker,
    sets: Sequence[EvaluationSet | ClassificationSet],
) -> DownstreamResult:
    """Train one model, or load it if the same training has been finished before; return its result so far.

    Args:
        sha256: hash of the pairs of `subset`, see `training_input`.
        sets: evaluation sets; the model is validated on a part of one if its training says so.
    """
    model.validate = make_validation(model, sets)
    fingerprint = training_fingerprint(model, subset.identity(sha256), device.type, subset.captions.sha256)
    folder = training_folder(model, fingerprint)
    with one_launch(folder, device):
        reused = finished(folder, fingerprint) is not None
        if not reused:
            samples, pairs = model.training.samples_seen, len(subset.epochs[0])
            epochs = f"{samples / pairs:,.1f}".removesuffix(".0")
            times = f"{epochs} epoch{'s' * (epochs != '1')} ({samples:,} samples)"
            log.info("%s: training on %s pairs for %s", model.name, f"{pairs:,}", times)
        report = model.train(subset, folder, device, tracker, fingerprint)
    log.info("train: %s", folder)
    if reused:
        for seen, loss in report.losses:
            tracker.log({f"{model.name}/loss": loss}, step=seen)
    other_captions = dict(subset.captions.counts()) if subset.captions.by_uid else {}
    return DownstreamResult(str(folder / "model"), report, dict(subset.missing), other_captions, {})
