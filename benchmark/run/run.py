"""``task=run``, once what it needs is there: a mistake is said before more is imported."""

from omegaconf import DictConfig

from benchmark.run.output import Finished
from benchmark.run.preflight import check_before_run


def run(cfg: DictConfig) -> Finished | None:
    """Check what the run needs, then do it, see `run_whole`."""
    told = check_before_run(cfg)
    from benchmark.run.whole_run import run_whole

    return run_whole(cfg, told)
