"""``python -m benchmark [task=run] filter=clip size=200k pool=demo downstream=both``."""

import os
import sys
import time
from pathlib import Path

import hydra
from omegaconf import DictConfig

from benchmark.command_line.free_text import quote_free_text
from benchmark.command_line.own_filters import name_own_filters
from benchmark.command_line.sweeps import planned_sweeps, run_sweeps
from benchmark.config import CONF, USER_ERRORS, call_task, explain, register_resolvers
from benchmark.core.errors import UserError
from benchmark.core.progress import configure_logging

with_hydra = hydra.main(version_base="1.3", config_path=str(CONF), config_name="config")


def fail(message: str) -> None:
    """Write the message to stderr as one line and exit with code 2."""
    sys.stderr.write(f"error: {' '.join(message.split())}\n")
    sys.exit(2)


@with_hydra
def run_task(cfg: DictConfig) -> None:
    """Run the task that the configuration names."""
    try:
        call_task(cfg)
    except UserError as error:
        fail(str(error))  # caught here: Hydra would print a message of its own before main sees the error


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
    if str(Path.cwd()) not in sys.path:  # at its end, so that no folder of the user hides a package of ours
        sys.path.append(str(Path.cwd()))
    try:
        sys.argv[1:] = name_own_filters(sys.argv[1:])
        if sweeps := planned_sweeps(sys.argv[1:]):
            sys.exit(run_sweeps(sweeps, with_hydra))
        run_task()
    except USER_ERRORS as error:
        fail(explain(error))


if __name__ == "__main__":
    main()
