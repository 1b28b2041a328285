"""``task=select``: score the pool, keep exactly k, write the subset file."""

from omegaconf import DictConfig

from benchmark.config import make_pool
from benchmark.stages.choose import choose
from benchmark.tasks.output import print_result
from benchmark.tasks.preflight import check_before_run


def select(cfg: DictConfig) -> None:
    """Select; print the path of the subset file, or of each epoch's (their manifest lies beside them)."""
    check_before_run(cfg)
    for path in choose(cfg, make_pool(cfg)).paths:
        print_result(str(path))
