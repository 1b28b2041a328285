"""The stages that tasks share: score and select, open the subset, train, evaluate."""

import hashlib
import json
import logging
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import hydra
import numpy as np
import torch
from omegaconf import DictConfig

from benchmark.config import (
    choice,
    filter_settings,
    make_engine,
    make_filter,
    recorded,
    resolved,
    subset_size,
)
from benchmark.core.errors import UserError
from benchmark.core.launch import is_main_process, one_launch
from benchmark.core.paths import cache_dir, write_text
from benchmark.core.uids import UidIndex
from benchmark.engine.base import Engine
from benchmark.pool.pool import Pool
from benchmark.results.provenance import library_versions
from benchmark.results.result import DownstreamResult
from benchmark.results.trackers import Tracker
from benchmark.scoring.losses import check_losses
from benchmark.scoring.score_folder import remove_scores, score_folder, score_paths
from benchmark.scoring.score_pool import ScoreTable, score_pool
from benchmark.selection.selection import Manifest, Selection, Selector, subset_files, write_selection
from benchmark.subset.fetch import fetch_subset
from benchmark.subset.other_captions import CaptionSources
from benchmark.subset.readable import check_readable, unreadable_images
from benchmark.subset.subset import Subset
from downstream.evaluation.classification_sets import ClassificationSet
from downstream.evaluation.evaluation_sets import EvaluationSet
from downstream.evaluation.validation import make_validation
from downstream.metrics.base import CaptionMetric
from downstream.metrics.metric import Metric
from downstream.models.base import Downstream, Trainable
from downstream.models.published import Published
from downstream.training.checkpointing import TrainReport, finished
from filters.base import Filter

log = logging.getLogger(__name__)


@dataclass(frozen=True)
class Chosen:
    """A selection with its manifest, the subset file of each epoch, the scores it was made from and their filter."""

    selection: Selection
    manifest: Manifest
    paths: list[Path]
    table: ScoreTable
    scorer: Filter


def choose(cfg: DictConfig, pool: Pool) -> Chosen:
    """Score the pool or reuse its scores, select exactly k, write the subset files and their manifest."""
    k = subset_size(cfg)
    if pool.scale > 1:
        paper, here = f"{k * pool.scale:,}", f"{k:,}"
        log.info("size: %s of the paper's pool is %s here (scale 1:%d)", paper, here, pool.scale)
    check_size(pool, k)
    scorer = make_filter(cfg)
    selector: Selector = hydra.utils.instantiate(cfg.selector, _convert_="all")
    engine = make_engine(cfg)
    table = make_scores(cfg, pool, scorer, engine)
    log.info("score: %s", score_folder(pool, scorer))
    epochs = _epochs(cfg, k)
    seed = int(cfg.seed)
    selection = selector.select(table, k, epochs, seed, pool, engine)
    path = subset_path(cfg, pool, scorer)
    paths = subset_files(path, selection)
    manifest = Manifest(
        pool=pool.name,
        filter=choice(cfg, "filter"),
        config=recorded(filter_settings(cfg)),
        k=k,
        seed=seed,
        threshold=selection.threshold,
        scored=selection.scored,
        tied=selection.tied,
        tied_kept=selection.tied_kept,
        drops=selection.drops,
        sha256=selection.sha256,
        distinct=len(selection.uids),
        files=[path.name for path in paths],
        selector=choice(cfg, "selector"),
        selector_config=recorded(cfg.selector),
        versions=library_versions(),
    )
    write_selection(path, selection, manifest)
    log.info("select: %s of %s, down to score %.4g", f"{k:,}", f"{selection.scored:,}", selection.threshold)
    if selection.tied_kept < selection.tied:
        tied, kept = f"{selection.tied:,}", f"{selection.tied_kept:,}"
        log.info("select: of %s pairs with that score %s are kept, which the seed decides", tied, kept)
    if len(paths) > 1:
        distinct = f"{manifest.distinct:,}"
        log.info("select: %d different epochs with %s distinct pairs", len(paths), distinct)
    log.info("select: %s", paths[0])
    return Chosen(selection, manifest, paths, table, scorer)


def make_scores(cfg: DictConfig, pool: Pool, scorer: Filter, engine: Engine) -> ScoreTable:
    """Score the pool or reuse its scores, unless `rescore` is true; say what was lost, see `check_losses`."""
    tolerate = cfg.scoring.tolerate
    if cfg.rescore and is_main_process():  # the other processes of a launch read what this one makes
        remove_scores(pool, scorer)
    table = score_pool(pool, scorer, engine)
    check_losses(pool, table, len(score_paths(pool, scorer)), tolerate)
    return table


def check_size(pool: Pool, k: int) -> None:
    """Raise `UserError` if the metadata of the pool lists fewer than k pairs."""
    listed = pool.count()
    if listed is not None and k > listed:
        raise UserError(
            f"size asks for {k:,} pairs, but pool {pool.name} lists {listed:,}; choose a smaller size"
        )


def subset_path(cfg: DictConfig, pool: Pool, scorer: Filter) -> Path:
    """Return where the subset file lies (see `subset_files`); its name changes with the weights of `scorer`."""
    k = subset_size(cfg)
    name = f"{scorer.key()}{_selector_key(cfg, _epochs(cfg, k))}-{k}-seed{int(cfg.seed)}.npy"
    return cache_dir() / "selections" / pool.key / name


def _epochs(cfg: DictConfig, k: int) -> int:
    """Return ceil(budget / k) for the largest budget of the downstream models."""
    return max(-(-int(model.training.samples_seen) // k) for model in cfg.downstream.values())


def _selector_key(cfg: DictConfig, epochs: int) -> str:
    """Return the selector's suffix in the subset file's name: choice and hash of settings, empty for the default."""
    name = choice(cfg, "selector")
    if name == "best":
        return ""
    text = json.dumps([resolved(cfg.selector), epochs], sort_keys=True)
    return f"-{name}-{hashlib.sha256(text.encode()).hexdigest()[:8]}"


def open_subset(
    pool: Pool, selection: Selection, sources: CaptionSources | None = None, tolerate: float = 0.0
) -> Subset:
    """Open the selected samples; a remote pool's are first fetched into the cache.

    Raises `UserError` if more than the share `tolerate` of them cannot be read.
    """
    subset = _open(pool, selection, sources)
    subset.missing += unreadable_images(subset, selection.sha256)
    check_readable(len(selection.uids), subset.lost, tolerate)
    return subset


def _open(pool: Pool, selection: Selection, sources: CaptionSources | None) -> Subset:
    uids = selection.uids
    captions = sources.of(uids) if sources else None
    if captions is not None:
        log.info("other captions: %s", ", ".join(f"{n:,} {name}" for name, n in captions.counts().items()))
    if pool.is_local:
        return Subset(pool, uids, selection.epochs, captions)
    return Subset(fetch_subset(pool, uids), uids, selection.epochs, captions, metadata=pool)


def note_lost(chosen: Chosen, subset: Subset) -> Chosen:
    """Return `chosen` with the counts of selected samples that cannot be read in its manifest, also on disk."""
    manifest = replace(chosen.manifest, lost=subset.lost)
    if subset.lost and is_main_process():
        path = chosen.paths[0]
        write_selection(path.with_stem(path.stem.partition("-epoch")[0]), chosen.selection, manifest)
    return replace(chosen, manifest=manifest)


def kept_by_noise(pool: Pool, selection: Selection) -> dict[str, int]:
    """Return how many samples of all epochs have each kind of planted noise; empty for pools other than the demo."""
    if "noise" not in pool.hidden:
        return {}
    index = UidIndex(selection.uids)
    draws = np.bincount(index.find(np.concatenate(selection.epochs)), minlength=len(selection.uids))
    kept = Counter[str]()
    needs = frozenset({"noise"})
    for shard in pool.shards(needs):
        for batch in pool.batches(shard, needs, 65536, Counter()):
            rows = index.find(batch.uids)
            for kind in set(batch.columns["noise"].tolist()):
                kept[str(kind)] += int(draws[rows[(rows >= 0) & (batch.columns["noise"] == kind)]].sum())
    return {kind: count for kind, count in sorted(kept.items()) if count}


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
    folder = cache_dir() / "trained" / f"{model.name}-{fingerprint}"
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
    """Return a hash of what a training depends on: model, recipe, starting weights, subset, device, captions.

    Args:
        model: its identity has all settings, and weights by their revision, wherever they lie.
        subset_sha256: hash of the selected uids.
        device: ``"cpu"`` or ``"cuda"``, which differ in precision.
        captions_sha256: hash of the other captions; None without any.
    """
    parts = [subset_sha256, model.identity(), device, *([captions_sha256] if captions_sha256 else [])]
    return hashlib.sha256(json.dumps(parts, sort_keys=True).encode()).hexdigest()[:16]


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


def downstream_result(
    trained: Trained, evaluations: dict[str, list[Metric]], folder: Path
) -> DownstreamResult:
    """Return what a result keeps of one trained model; the loss curve goes to ``losses.json`` in `folder`."""
    if trained.report.losses:  # trainings that an older version finished kept none
        write_text(folder / "losses.json", json.dumps(trained.report.losses))
    report = replace(trained.report, losses=())
    return DownstreamResult(
        str(trained.folder / "model"), report, trained.missing, trained.other_captions, evaluations
    )
