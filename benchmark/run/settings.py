"""Settings that several tasks read."""

from omegaconf import DictConfig

from benchmark.core.errors import UserError
from benchmark.scoring.shard_part import ShardPart


def shard_part(cfg: DictConfig) -> ShardPart | None:
    """Return the part of the pool's shards that ``shards=`` asks for, None for all; raise `UserError` if wrong."""
    text = cfg.get("shards")
    if text is None:
        return None
    if cfg.task.name != "score":
        raise UserError(f"shards={text} is for task=score alone; leave it out when all parts are scored")
    part = ShardPart.parse(str(text))
    if cfg.rescore:
        raise UserError(
            f"shards={part} with rescore=true would remove what other parts have scored; leave one of them out"
        )
    return part
