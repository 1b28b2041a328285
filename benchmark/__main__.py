"""``python -m benchmark [task=run] filter=clip size=200k pool=demo downstream=both``."""

import os
import sys
import time
from pathlib import Path

import hydra
from hydra.core.override_parser.overrides_parser import OverridesParser
from hydra.errors import HydraException
from omegaconf import DictConfig
from omegaconf.errors import OmegaConfBaseException

from benchmark.config import CONF, explain, register_resolvers
from benchmark.core.errors import UserError
from benchmark.core.progress import configure_logging
from benchmark.free_text import quote_free_text

USER_ERRORS = (UserError, HydraException, OmegaConfBaseException)


def fail(message: str) -> None:
    """Write the message to stderr as one line and exit with code 2."""
    sys.stderr.write(f"error: {' '.join(message.split())}\n")
    sys.exit(2)


@hydra.main(version_base="1.3", config_path=str(CONF), config_name="config")
def run_task(cfg: DictConfig) -> None:
    """Run the task that the configuration names."""
    try:
        hydra.utils.get_method(cfg.task._target_)(cfg)
    except USER_ERRORS as error:
        fail(explain(error))  # caught here: Hydra would print a message of its own before main sees the error


def is_sweep(arguments: list[str]) -> bool:
    """Return whether an override lists several values, as in ``filter=random,clip``."""
    overrides = [a for a in arguments if "=" in a and not a.startswith("-")]
    return any(o.is_sweep_override() for o in OverridesParser.create().parse_overrides(overrides))


def main() -> None:
    """Entry point: set up logging and Hydra, and report errors that the user caused as one line."""
    configure_logging()
    register_resolvers()
    os.environ["HYDRA_FULL_ERROR"] = "1"  # raise configuration errors instead of printing Hydra's summary
    os.environ.setdefault(
        "PAIRSIFT_SWEEP", time.strftime("%Y%m%d-%H%M%S")
    )  # inherited by the jobs of a launcher
    # Must be set before torch is imported. OpenMP threads that spin while they wait slow training tenfold on a busy
    # machine; no spinning at all costs a quarter of the speed on an idle one (results/LOG.md).
    os.environ.setdefault("GOMP_SPINCOUNT", "20000")
    os.environ.setdefault("TOKENIZERS_PARALLELISM", "false")  # tokenizers warn when a process forks after use
    sys.argv[1:] = quote_free_text(sys.argv[1:])
    try:
        if "-m" not in sys.argv and "--multirun" not in sys.argv and is_sweep(sys.argv[1:]):
            sys.argv.insert(1, "--multirun")
        run_task()
    except USER_ERRORS as error:
        fail(explain(error))


if __name__ == "__main__":
    # So that a user's filter in the working directory is found: filter._target_=my_filter.MyFilter
    sys.path.insert(0, str(Path.cwd()))
    main()
