"""``task=select``: score the pool, keep exactly k, write the subset file."""

from omegaconf import DictConfig

from benchmark.run.choose import choose
from benchmark.run.config import make_pool
from benchmark.run.output import print_result
from benchmark.run.preflight import check_before_run


def select(cfg: DictConfig) -> None:
    """Select; print the path of the subset file, or of each epoch's (their manifest lies beside them)."""
    check_before_run(cfg)
    for path in choose(cfg, make_pool(cfg)).paths:
        print_result(str(path))
