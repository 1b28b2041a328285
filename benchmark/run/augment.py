"""``task=augment``: generate one additional caption for each selected pair, for training with `captions.files`."""

import logging

import hydra
from omegaconf import DictConfig

from benchmark.core.batch import counts
from benchmark.core.paths import cache_folder
from benchmark.core.storage import local_path
from benchmark.run.choose import choose
from benchmark.run.config import make_engine, make_pool
from benchmark.run.open_subset import open_subset
from benchmark.run.output import print_result
from benchmark.studies.augmentation.base import Augmenter
from benchmark.studies.augmentation.caption_writer import write_captions

log = logging.getLogger(__name__)


def augment(cfg: DictConfig) -> None:
    """Select pairs and write captions; the last line on stdout is the folder, a value for ``captions.files``."""
    output = None if cfg.task.output is None else local_path("task.output", str(cfg.task.output))
    augmenter: Augmenter = hydra.utils.instantiate(cfg.augmentation, _convert_="all")
    name = augmenter.key()  # fails early if the checkpoint is missing, before the pool is scored
    pool = make_pool(cfg)
    selection = choose(cfg, pool).selection
    subset = open_subset(pool, selection, tolerate=cfg.selection.tolerate)
    identity = subset.identity(selection.sha256)
    default = cache_folder("augmented", f"{name}-{identity[:16]}")
    folder = default if output is None else output
    drops = write_captions(subset, identity, augmenter, folder, make_engine(cfg))
    log.info(
        "augment: captions of %s of %s samples (dropped: %s)",
        f"{len(subset) - drops.total():,}",
        f"{len(selection.uids):,}",
        counts(drops | subset.missing) or "none",
    )
    print_result(str(folder))
