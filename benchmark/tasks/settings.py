"""Checks of settings that several tasks have."""

from typing import Any

from omegaconf import DictConfig

from benchmark.core.errors import UserError
from benchmark.scoring.shard_share import ShardShare


def positive_integer(setting: str, value: Any) -> int:
    """Return `value`; raises `UserError` unless it is a positive integer. `setting` is its name as users type it."""
    if not _is_positive_integer(value):
        raise UserError(f"{setting}={value} must be a positive integer")
    return int(value)


def positive_integer_or_null(setting: str, value: Any, null: str) -> int | None:
    """Return `value`, like `positive_integer`, or None; `null` says what null stands for."""
    if value is None:
        return None
    if not _is_positive_integer(value):
        raise UserError(f"{setting}={value} must be a positive integer, or null for {null}")
    return int(value)


def _is_positive_integer(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and value > 0


def shard_share(cfg: DictConfig) -> ShardShare | None:
    """Return the part of the pool's shards that ``shards=`` asks for, None for all; raise `UserError` if wrong."""
    text = cfg.get("shards")
    if text is None:
        return None
    if cfg.task.name != "score":
        raise UserError(f"shards={text} is for task=score alone; leave it out when all parts are scored")
    return ShardShare.parse(str(text))
