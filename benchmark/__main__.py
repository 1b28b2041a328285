"""``python -m benchmark [task=run] filter=clip size=200k pool=demo downstream=both``."""

import gc
import sys
from pathlib import Path

import hydra
from omegaconf import DictConfig

from benchmark.cli.bounds import check_arguments, check_config_dir
from benchmark.cli.environment import set_environment
from benchmark.cli.help_text import answer
from benchmark.cli.jobs import WrongJobsError, run_job, run_single
from benchmark.cli.mistakes import end_with_mistakes
from benchmark.cli.overrides import normalised
from benchmark.cli.own_filters import name_own_filters
from benchmark.cli.stopping import raise_if_stopped, stop_on_signals
from benchmark.cli.sweep_runs import run_sweeps
from benchmark.cli.sweeps import is_single_run, planned_sweeps
from benchmark.cli.wrong_overrides import explain_command
from benchmark.core.errors import UserError
from benchmark.core.garbage import collect_again
from benchmark.core.progress import configure_logging
from benchmark.run.config import CONF, USER_ERRORS, register_resolvers

with_hydra = hydra.main(version_base="1.3", config_path=str(CONF), config_name="config")


def run_task(cfg: DictConfig) -> None:
    """Run, or plan, the task that the configuration names."""
    try:
        run_job(cfg)
    except UserError as error:
        end_with_mistakes(str(error))  # here: Hydra would print a message of its own before main sees it


def main() -> None:
    """Entry point: set up logging and Hydra, and report errors that the user caused as one line."""
    configure_logging()
    register_resolvers()
    if str(Path.cwd()) not in sys.path:  # at its end, so that no folder of the user hides a package of ours
        sys.path.append(str(Path.cwd()))
    gc.disable()  # until a task begins: a tenth of the time that settings and imports take
    try:
        with stop_on_signals():
            run_command()
    finally:
        collect_again()


def run_command() -> None:
    """Run the jobs that the arguments ask for, or answer what they ask."""
    try:
        check_arguments(sys.argv[1:])
        set_environment()  # refuses a cache that is a URL before Hydra makes a folder of it
        if text := answer(sys.argv[1:]):
            sys.stdout.write(f"{text}\n")
            return
        sys.argv[1:] = name_own_filters(normalised(sys.argv[1:]))
        check_config_dir(sys.argv[1:])
        if sweeps := planned_sweeps(sys.argv[1:]):
            collect_again()
            sys.exit(run_sweeps(sweeps, with_hydra))
        if is_single_run(sys.argv[1:]):
            run_single(sys.argv[1:], run_task)
        else:  # --cfg, --info, shell completion, -m
            with_hydra(run_task)()
    except WrongJobsError as error:
        end_with_mistakes(*error.lines)
    except Exception as error:
        raise_if_stopped()
        if isinstance(error, USER_ERRORS):
            end_with_mistakes(explain_command(error, sys.argv[1:]))
        raise


if __name__ == "__main__":
    main()
