"""``python -m benchmark [task=run] filter=clip size=200k pool=demo downstream=both``."""

import os
import sys
import time
from pathlib import Path

import hydra
from omegaconf import DictConfig

from benchmark.command_line.help_text import answer
from benchmark.command_line.overrides import normalised
from benchmark.command_line.own_filters import name_own_filters
from benchmark.command_line.settings_schema import check_settings
from benchmark.command_line.sweeps import planned_sweeps, run_sweeps
from benchmark.command_line.wrong_overrides import explain_command
from benchmark.config import CONF, USER_ERRORS, call_task, register_resolvers
from benchmark.core.errors import UserError
from benchmark.core.paths import cache_dir, remote_paths
from benchmark.core.progress import configure_logging
from benchmark.core.redaction import redact

with_hydra = hydra.main(version_base="1.3", config_path=str(CONF), config_name="config")


def fail(message: str) -> None:
    """Write the message to stderr as one line and exit with code 2."""
    sys.stderr.write(f"error: {redact(remote_paths(' '.join(message.split())))}\n")
    sys.exit(2)


@with_hydra
def run_task(cfg: DictConfig) -> None:
    """Check all settings, then run the task that they name."""
    try:
        check_settings(cfg)
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
    if str(Path.cwd()) not in sys.path:  # at its end, so that no folder of the user hides a package of ours
        sys.path.append(str(Path.cwd()))
    try:
        cache_dir()  # a URL is refused before Hydra makes a folder of it
        if text := answer(sys.argv[1:]):
            sys.stdout.write(f"{text}\n")
            return
        sys.argv[1:] = name_own_filters(normalised(sys.argv[1:]))
        if sweeps := planned_sweeps(sys.argv[1:]):
            sys.exit(run_sweeps(sweeps, with_hydra))
        run_task()
    except USER_ERRORS as error:
        fail(explain_command(error, sys.argv[1:]))


if __name__ == "__main__":
    main()
