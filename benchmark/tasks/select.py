"""``task=select``: score the pool, keep exactly k, write the subset file."""

from omegaconf import DictConfig

from benchmark.config import make_pool
from benchmark.pipeline import choose
from benchmark.tasks.output import say


def select(cfg: DictConfig) -> None:
    """Select; print the path of the subset file (its manifest lies beside it)."""
    say(str(choose(cfg, make_pool(cfg)).path))
