"""Score the pool, select exactly k, and write the subset files."""

import logging
from dataclasses import dataclass
from pathlib import Path

import hydra
from hydra.core.hydra_config import HydraConfig
from hydra.types import RunMode
from omegaconf import DictConfig

from benchmark.core.errors import UserError
from benchmark.core.hashes import hash_json
from benchmark.core.json_text import finite_or_none
from benchmark.core.launch import is_main_process
from benchmark.core.paths import cache_folder
from benchmark.engine.base import Engine
from benchmark.pool.pool import Pool
from benchmark.results.provenance import library_versions
from benchmark.run.config import (
    choice,
    filter_settings,
    make_engine,
    make_filter,
    recorded,
    resolved,
    subset_size,
)
from benchmark.scoring.score_folder import remove_scores, score_folder, score_paths
from benchmark.scoring.score_pool import check_losses, score_pool
from benchmark.scoring.score_table import ScoreTable
from benchmark.selection.manifest import Manifest
from benchmark.selection.selection import Selection, Selector, subset_files, write_selection
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
        threshold=finite_or_none(selection.threshold),
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
    _log_selection(manifest, selection.threshold, paths)
    return Chosen(selection, manifest, paths, table, scorer)


def _log_selection(manifest: Manifest, threshold: float, paths: list[Path]) -> None:
    """Log the threshold, the ties that the seed decided, and where the subset file lies."""
    log.info("select: %s of %s, down to score %.4g", f"{manifest.k:,}", f"{manifest.scored:,}", threshold)
    if manifest.tied_kept < manifest.tied:
        tied, kept = f"{manifest.tied:,}", f"{manifest.tied_kept:,}"
        log.info("select: of %s pairs with that score %s are kept, which the seed decides", tied, kept)
    if len(paths) > 1:
        distinct = f"{manifest.distinct:,}"
        log.info("select: %d different epochs with %s distinct pairs", len(paths), distinct)
    log.info("select: %s", paths[0])


def make_scores(cfg: DictConfig, pool: Pool, scorer: Filter, engine: Engine) -> ScoreTable:
    """Score the pool or reuse its scores, unless `rescore` is true; say what was lost, see `check_losses`."""
    tolerate = cfg.scoring.tolerate
    if cfg.rescore and is_main_process():  # the other processes of a launch read what this one makes
        remove_scores(pool, scorer, sweep_folder())
    table = score_pool(pool, scorer, engine)
    check_losses(pool, table, len(score_paths(pool, scorer)), tolerate)
    return table


def sweep_folder() -> Path | None:
    """Return the folder of the sweep that this run is a job of, None for a single run."""
    settings = HydraConfig.get()
    return Path(settings.sweep.dir) if settings.mode == RunMode.MULTIRUN else None


def check_size(pool: Pool, k: int) -> None:
    """Raise `UserError` if the metadata of the pool lists fewer than k pairs."""
    listed = pool.count()
    if listed is not None and k > listed:
        asked = asked_for(k, pool.scale)
        raise UserError(
            f"size asks for {asked}, but pool {pool.name} lists {listed:,}; choose a smaller size"
        )


def asked_for(k: int, scale: int) -> str:
    """Return the pairs that a size asks for: k, and in a scale model those of the paper's pool, which users give."""
    paper = f"{k * scale:,} pairs of the paper's pool, which is {k:,} here (scale 1:{scale})"
    return f"{k:,} pairs" if scale == 1 else paper


def subset_path(cfg: DictConfig, pool: Pool, scorer: Filter) -> Path:
    """Return where the subset file lies (see `subset_files`); its name changes with the weights of `scorer`."""
    k = subset_size(cfg)
    name = f"{scorer.key()}{_selector_key(cfg, _epochs(cfg, k))}-{k}-seed{int(cfg.seed)}.npy"
    return cache_folder("selections", pool.key) / name


def _epochs(cfg: DictConfig, k: int) -> int:
    """Return ceil(budget / k) for the largest budget of the downstream models."""
    return max(-(-int(model.training.samples_seen) // k) for model in cfg.downstream.values())


def _selector_key(cfg: DictConfig, epochs: int) -> str:
    """Return the selector's suffix in the subset file's name: choice and hash of settings, empty for the default."""
    name = choice(cfg, "selector")
    if name == "best":
        return ""
    return f"-{name}-{hash_json([resolved(cfg.selector), epochs], 8)}"
