"""A task that does nothing, in a module that a launcher's processes import quickly."""

from pathlib import Path
from types import SimpleNamespace

from omegaconf import DictConfig

from benchmark.core.errors import UserError
from benchmark.run.output import Finished, print_result

CLOCK = SimpleNamespace(now=0.0)
PRETEND = ["task=report", f"task._target_={__name__}.pretend"]  # reports need nothing that is checked first


def pretend(cfg: DictConfig) -> Finished:
    """Take a minute and print the seed; skip 1, have a bug at 3, refuse 5, leave out 7, lack a metric at 9."""
    if cfg.seed == 3:
        raise ZeroDivisionError("a bug\nof two lines")
    if cfg.seed == 5:
        raise UserError("seed=5 must be another")
    if cfg.seed == 7:
        return Finished(None, left_out="not worth it")
    print_result(f"seed{cfg.seed}.json")
    if cfg.seed != 1:
        CLOCK.now += 60
    failure = "a/b/CIDEr failed, see the log" if cfg.seed == 9 else ""
    return Finished(Path(f"seed{cfg.seed}.json"), skipped=cfg.seed == 1, failure=failure)
