"""The stages that the tasks share: score and select, open the subset, train, evaluate."""

import hashlib
import json
import logging
from collections import Counter
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import hydra
import numpy as np
from omegaconf import DictConfig

from benchmark.config import choice, make_engine, make_filter, recorded, resolved, subset_size
from benchmark.core.devices import resolve_device
from benchmark.core.errors import UserError
from benchmark.core.launch import one_launch
from benchmark.core.paths import cache_dir
from benchmark.core.uids import UidIndex
from benchmark.models.checkpoints import locate_checkpoint, revision
from benchmark.pool.pool import Pool
from benchmark.results.result import DownstreamResult, library_versions
from benchmark.results.trackers import Tracker
from benchmark.scoring.score_pool import ScoreTable, score_pool
from benchmark.selection.selection import Manifest, Selection, Selector, subset_files, write_selection
from benchmark.subset.other_captions import CaptionSources
from benchmark.subset.reshard import reshard
from benchmark.subset.subset import Subset, selected_samples
from downstream.evaluation.classification_sets import ClassificationSet
from downstream.evaluation.evaluation import evaluate
from downstream.evaluation.evaluation_sets import EvaluationSet

# The settings of a downstream model that name a checkpoint.
PARTS = ("encoder", "decoder", "image_encoder", "text_encoder")
log = logging.getLogger(__name__)


@dataclass(frozen=True)
class Chosen:
    """A selection with its manifest, the subset file of each epoch, and what scoring cost."""

    selection: Selection
    manifest: Manifest
    paths: list[Path]
    table: ScoreTable


def choose(cfg: DictConfig, pool: Pool) -> Chosen:
    """Score the pool (or reuse its scores), keep exactly k, write the subset file and its manifest."""
    k = subset_size(cfg)
    if pool.scale > 1:
        log.info(
            "size: %s of the paper's pool is %s here (scale 1:%d)",
            f"{k * pool.scale:,}",
            f"{k:,}",
            pool.scale,
        )
    listed = pool.count()
    if listed is not None and k > listed:
        raise UserError(
            f"size asks for {k:,} pairs, but pool {pool.name} lists {listed:,}; choose a smaller size"
        )
    scorer = make_filter(cfg)
    selector: Selector = hydra.utils.instantiate(cfg.selector, _convert_="all")
    engine = make_engine(cfg)
    table = score_pool(pool, scorer, engine)
    epochs = _epochs(cfg, k)
    selection = selector.select(table, k, epochs, pool, engine)
    path = cache_dir() / "selections" / pool.key / f"{scorer.key()}{_selector_key(cfg, epochs)}-{k}.npy"
    paths = subset_files(path, selection)
    manifest = Manifest(
        pool=pool.name,
        filter=choice(cfg, "filter"),
        config=recorded(cfg.filter),
        k=k,
        threshold=selection.threshold,
        scored=selection.scored,
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
    if len(paths) > 1:
        distinct = f"{manifest.distinct:,}"
        log.info("select: %d epochs of their own, %s different pairs in all", len(paths), distinct)
    return Chosen(selection, manifest, paths, table)


def _epochs(cfg: DictConfig, k: int) -> int:
    """Return how many epochs of k the largest budget is, the last one begun."""
    return max(-(-int(model.training.samples_seen) // k) for model in cfg.downstream.values())


def _selector_key(cfg: DictConfig, epochs: int) -> str:
    """Return what a selection's file name says of the selector: nothing of the one that draws nothing."""
    name = choice(cfg, "selector")
    if name == "best":
        return ""
    text = json.dumps([resolved(cfg.selector), epochs], sort_keys=True)
    return f"-{name}-{hashlib.sha256(text.encode()).hexdigest()[:8]}"


def open_subset(pool: Pool, selection: Selection, sources: CaptionSources | None = None) -> Subset:
    """Open the selected samples; those of a remote pool are first written to tars in the cache."""
    uids = selection.uids
    captions = sources.of(uids) if sources else None
    if captions is not None:
        log.info("other captions: %s", ", ".join(f"{n:,} {name}" for name, n in captions.counts().items()))
    if pool.is_local:
        return Subset(pool, uids, selection.epochs, captions)
    folder = cache_dir() / "subsets" / selection.sha256[:16]
    if not (folder / "sample_ids.npy").is_file():  # written last
        log.info("subset: fetching %s samples of pool %s to %s", f"{len(uids):,}", pool.name, folder)
        reshard(pool, selected_samples(pool, uids), folder)
    return Subset(Pool(pool.name, str(folder)), uids, selection.epochs, captions, metadata=pool)


def kept_by_noise(pool: Pool, selection: Selection) -> dict[str, int]:
    """Return how many draws of the selection's epochs carry each planted kind of noise; empty for other pools."""
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
    """A trained downstream model, its report, and where its checkpoint lies."""

    model: Any
    report: dict[str, Any]
    folder: Path


def train(cfg: DictConfig, name: str, subset: Subset, sha256: str, tracker: Tracker) -> Trained:
    """Train one downstream model, or load it when the same training was finished before."""
    device = resolve_device(cfg.device)
    identity = subset.identity(sha256)
    fingerprint = _training_fingerprint(cfg, name, identity, device.type, subset.captions.sha256)
    folder = cache_dir() / "trained" / f"{name}-{fingerprint}"
    model = hydra.utils.instantiate(cfg.downstream[name], _convert_="all")
    with one_launch(folder, device):
        report = asdict(model.train(subset, folder, device, tracker, fingerprint))
    report["missing"] = dict(subset.missing)
    if subset.captions.by_uid:
        report["other_captions"] = subset.captions.counts()
    return Trained(model, report, folder)


def _training_fingerprint(
    cfg: DictConfig, name: str, sha256: str, device: str, captions: str | None = None
) -> str:
    """Hash what a training depends on: the subset, the recipe, its weights at the start, precision, other captions.

    Weights count by their revision, not by where they lie: a moved checkout trains nothing again.
    """
    recipe = resolved(cfg.downstream[name])
    recipe |= {part: revision(locate_checkpoint(recipe[part])) for part in PARTS if part in recipe}
    parts = [sha256, recipe, device, *([captions] if captions else [])]
    text = json.dumps(parts, sort_keys=True)
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def evaluate_all(
    cfg: DictConfig, trained: Trained, sets: list[EvaluationSet | ClassificationSet]
) -> dict[str, list[dict[str, Any]]]:
    """Evaluate a trained model on every evaluation set that fits it; returns metrics by set."""
    device = resolve_device(cfg.device)
    log.info("evaluate: %s", trained.model.name)
    found = evaluate(trained.model, sets, resolved(cfg.metrics), trained.folder, device)
    return {name: [asdict(metric) for metric in metrics] for name, metrics in found.items()}


def downstream_result(trained: Trained, evaluations: dict[str, list[dict[str, Any]]]) -> DownstreamResult:
    """Bundle what a result keeps of one trained model."""
    return DownstreamResult(str(trained.folder / "model"), trained.report, evaluations)
