"""``task=augment``: one more caption for each of the selected pairs, which training can draw from."""

import logging
from pathlib import Path

import hydra
from omegaconf import DictConfig

from benchmark.config import make_engine, make_pool
from benchmark.core.paths import cache_dir
from benchmark.pipeline import choose, open_subset
from benchmark.studies.augmentation.base import Augmenter
from benchmark.studies.augmentation.writing import write_captions
from benchmark.tasks.output import say

log = logging.getLogger(__name__)


def augment(cfg: DictConfig) -> None:
    """Select, then write captions; print the folder that ``captions.files`` takes, the last line on stdout."""
    augmenter: Augmenter = hydra.utils.instantiate(cfg.augmentation, _convert_="all")
    name = augmenter.key()  # locates the checkpoint, before anything is scored
    pool = make_pool(cfg)
    selection = choose(cfg, pool).selection
    subset = open_subset(pool, selection)
    identity = subset.identity(selection.sha256)
    cached = cache_dir() / "augmented" / f"{name}-{identity[:16]}"
    folder = cached if cfg.task.output is None else Path(cfg.task.output).expanduser()
    drops = write_captions(subset, identity, augmenter, folder, make_engine(cfg))
    lost = ", ".join(f"{count:,} {reason}" for reason, count in sorted((drops + subset.missing).items()))
    log.info(
        "augment: captions of %s of %s samples (left out: %s)",
        f"{len(subset) - drops.total():,}",
        f"{len(selection.uids):,}",
        lost or "none",
    )
    say(str(folder))
