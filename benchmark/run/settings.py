"""Settings that several tasks read."""

import logging

from hydra.core.hydra_config import HydraConfig
from hydra.types import RunMode
from omegaconf import DictConfig

from benchmark.core.errors import UserError
from benchmark.scoring.shard_share import ShardShare

log = logging.getLogger(__name__)


def shard_share(cfg: DictConfig) -> ShardShare | None:
    """Return the part of the pool's shards that ``task.shards=`` asks for, None for all; raise `UserError` if wrong.

    By default ``task=score`` in a Slurm job array scores the part of its task. Jobs of a sweep do not: launchers of
    sweeps make arrays, too.
    """
    text = cfg.task.get("shards")
    share = ShardShare.parse(str(text)) if text is not None else _share_of_slurm_array(cfg)
    if share is not None and cfg.rescore:
        raise UserError(
            f"task.shards={share} with rescore=true would remove what other parts have scored; leave one of them out"
        )
    return share


def _share_of_slurm_array(cfg: DictConfig) -> ShardShare | None:
    share = ShardShare.of_slurm_array() if cfg.task.name == "score" else None
    if share is None or HydraConfig.get().mode == RunMode.MULTIRUN:
        return None
    log.info(
        "score: task.shards=%s, the part of this task of a Slurm array; task.shards=1/1 scores all", share
    )
    return share
