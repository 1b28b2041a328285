"""``python -m benchmark [task=run] filter=clip size=200k pool=demo downstream=both``."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

import hydra
from hydra.core.hydra_config import HydraConfig

from benchmark.cli.help_text import answer
from benchmark.cli.jobs import compose_jobs, compose_run, job_of, make_job, planned_sweeps, print_plan
from benchmark.cli.mistakes import end_with_error, end_with_mistakes
from benchmark.cli.overrides import normalised
from benchmark.cli.own_parts import name_own_parts
from benchmark.cli.process import raise_if_stopped, set_environment, stop_on_signals
from benchmark.core.progress import configure_logging
from benchmark.run.config import CONF, TYPED, register_resolvers

if TYPE_CHECKING:
    from benchmark.run.job import Job

with_hydra = hydra.main(version_base="1.3", config_path=str(CONF), config_name="config")


def run_single(make: Callable[[], Job]) -> None:
    """Run, or plan, the job of a single run."""
    try:
        job = make()
        if job.cfg.plan:
            job.check()
            print_plan([(job.choices["filter"], job)])
            return
        finished = job.run()
        if finished is not None and finished.failure:
            end_with_mistakes(finished.failure, exit_code=1)
    except Exception as error:  # here: Hydra would print the overrides before main sees it, with passwords
        raise_if_stopped()
        end_with_error(error, sys.argv[1:])


def main() -> None:
    """Entry point: run the jobs that the arguments ask for, and report errors that the user caused as one line."""
    configure_logging()
    register_resolvers()
    if str(Path.cwd()) not in sys.path:  # at its end, so that no folder of the user hides a package of ours
        sys.path.append(str(Path.cwd()))
    with stop_on_signals():
        try:
            set_environment()  # refuses a cache that is a URL before Hydra makes a folder of it
            if text := answer(sys.argv[1:]):
                sys.stdout.write(f"{text}\n")
                return
            TYPED[:] = sys.argv[1:]
            sys.argv[1:] = name_own_parts(normalised(sys.argv[1:]))
            if sweeps := planned_sweeps(sys.argv[1:]):
                jobs = compose_jobs(sweeps)
                # Here, as it imports the report, whose tables a sweep ends with.
                from benchmark.cli.sweep_runs import run_sweeps

                sys.exit(run_sweeps(sweeps, jobs, with_hydra))
            if composed := compose_run(sys.argv[1:]):
                run_single(lambda: job_of(composed))
            else:
                with_hydra(lambda cfg: run_single(lambda: make_job(cfg, HydraConfig.get())))()
        except Exception as error:
            raise_if_stopped()
            if isinstance(error, OSError) and any(a.startswith("hydra.run.dir=") for a in sys.argv):
                end_with_mistakes(f"hydra.run.dir={error.filename} cannot be made ({error.strerror})")
            end_with_error(error, sys.argv[1:])


if __name__ == "__main__":
    main()
