"""The jobs of a sweep, run one after the other or by a launcher; one that fails does not stop the others."""

import logging
import os
import signal
import socket
import statistics
import sys
import time
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from datetime import timedelta
from pathlib import Path
from tempfile import mkdtemp
from typing import Any

from hydra.core.hydra_config import HydraConfig
from hydra.types import TaskFunction
from omegaconf import DictConfig

from benchmark.cli.jobs import (
    Job,
    Settings,
    check_jobs,
    compose_jobs,
    print_plan,
    settings_of,
)
from benchmark.cli.mistakes import of_job
from benchmark.cli.outcomes import Outcome, counts, job_file, read_outcome, write_outcome
from benchmark.cli.stopping import end_with, is_stop, raise_if_stopped
from benchmark.core.disk_errors import disk_errors_as_one_line
from benchmark.core.errors import UserError
from benchmark.core.launch import is_main_process, process_count
from benchmark.core.paths import cache_folder
from benchmark.core.progress import configure_logging, log_to_file
from benchmark.run.config import USER_ERRORS, call_task, explain, register_resolvers
from benchmark.run.output import Finished

log = logging.getLogger(__name__)


def run_sweeps(sweeps: Sequence[Sequence[str]], with_hydra: Callable[[TaskFunction], Any]) -> int:
    """Check all jobs, run one sweep after the other, print how each job ended; return the command's exit code.

    Args:
        sweeps: the arguments of each sweep, as `planned_sweeps` returns them.
        with_hydra: the decorator that runs a function of the configuration for every combination in `sys.argv`.

    Raises:
        WrongJobsError: a job cannot run; then none does.
    """
    jobs = compose_jobs(sweeps)
    checked = check_jobs(jobs)
    if any(job.composed.plan for job in jobs):
        print_plan(settings_of(jobs))
        return 0
    sweep = Sweep([job.name for job in jobs])
    log.info("sweep: %d jobs; their logs are in %s", len(jobs), sweep.folder)
    try:
        for index, arguments in enumerate(sweeps):
            of_sweep = [job for job in jobs if job.sweep == index]
            if all(job.runs_here for job in of_sweep):
                sweep.run_here(
                    of_sweep,
                    [reasons for job, reasons in zip(jobs, checked, strict=True) if job.sweep == index],
                )
            else:
                sys.argv[1:] = [*arguments, f"hydra.sweep.dir='{sweep.folder}'"]
                with_hydra(sweep.run)()
            sweep.collect(len(of_sweep))
    finally:
        if not is_stop(sys.exc_info()[1]):
            sweep.print_outcomes()
    return sweep.exit_code


class Sweep:
    """The jobs of one command. It is pickled for the processes of a launcher.

    Args:
        names: the name of each job.
    """

    def __init__(self, names: Sequence[str]) -> None:
        self.names = list(names)
        folders = cache_folder("sweeps")
        with disk_errors_as_one_line(folders):
            folders.mkdir(parents=True, exist_ok=True)
            self.folder = Path(mkdtemp(prefix=time.strftime("%Y%m%d-%H%M%S-"), dir=folders))
        self._process, self._host = os.getpid(), socket.gethostname()
        self._first = 0  # number of the first job of the sweep that Hydra runs now
        self._own: set[int] = set()  # numbers of the jobs that ran in this process

    def run_here(self, jobs: Sequence[Job], checked: Sequence[frozenset[str]]) -> None:
        """Run the next jobs one after the other in this process.

        Args:
            jobs: the jobs.
            checked: what `check_jobs` returned of them.
        """
        from benchmark.run.preflight import checked_before  # imported with torch

        for number, job in enumerate(jobs):
            job.place(number, self.folder)
        if process_count() == 1:  # in a launch one process scores while the others wait, job by job
            self._share_work(jobs)
        for job, reasons in zip(jobs, checked, strict=True):
            with checked_before(reasons):
                job.run(self.run)

    def _share_work(self, jobs: Sequence[Job]) -> None:
        """Do what jobs of one task share; whatever goes wrong, each job then does its own part of it."""
        from benchmark.run.shared_work import share_work  # imported with torch

        by_task = defaultdict(list)
        for job in jobs:
            by_task[str(job.composed.task.name)].append(job)
        for task, of_task in by_task.items():
            try:
                with log_to_file(self.folder / "shared.log"):
                    share_work(task, Settings(of_task))
            except USER_ERRORS as error:
                log.warning("task=%s: the jobs share no work: %s", task, explain(error))
            except Exception:
                raise_if_stopped()
                log.exception("task=%s: the jobs share no work, for an unexpected error", task)

    def run(self, cfg: DictConfig) -> None:
        """Run the task once, in whichever process; errors are kept for the sweep's end."""
        number = self._first + int(HydraConfig.get().job.num)
        if (os.getpid(), socket.gethostname()) != (self._process, self._host):
            self._run_in_worker(cfg, number)
            return
        self._own.add(number)
        with log_to_file(job_file(self.folder, number, "log")):
            log.info(
                "job %d of %d: %s; %s", number + 1, len(self.names), self.names[number], self._progress()
            )
            outcome = self._run(cfg, number)
        if outcome.exit_code and process_count() > 1:
            sys.exit(outcome.exit_code)  # ends the launch: its other processes would wait for this one

    def collect(self, jobs: int) -> None:
        """Print what the next `jobs` jobs that did not run in this process wrote to stdout, and log their errors."""
        for number in range(self._first, self._first + jobs):
            if number in self._own:
                continue
            printed, outcome = job_file(self.folder, number, "out"), self._outcome(number, "failed")
            if printed.is_file():
                sys.stdout.write(printed.read_text(encoding="utf-8"))
                sys.stdout.flush()
            if outcome.exit_code:
                log.error("error: %s", of_job(outcome.run, outcome.text))
        self._first += jobs

    @property
    def exit_code(self) -> int:
        """0 if no job failed, 2 if users can correct all that did, else 1."""
        return min((outcome.exit_code for outcome in self._outcomes() if outcome.exit_code), default=0)

    def print_outcomes(self) -> None:
        """Print a row per job, and the headline metrics of those with a result."""
        # Imported here: a misspelt command should be answered before torch is imported.
        from benchmark.cli.sweep_tables import outcome_tables
        from benchmark.results.report.terminal import print_tables

        if is_main_process():
            print_tables(outcome_tables(self._outcomes()), stderr=True)

    def _run_in_worker(self, cfg: DictConfig, number: int) -> None:
        signal.signal(signal.SIGINT, signal.SIG_IGN)  # the process that launched this one ends it
        register_resolvers()
        configure_logging()
        job = f"job {number + 1} of {len(self.names)}: {self.names[number]}"
        out, file = (job_file(self.folder, number, suffix) for suffix in ("out", "log"))
        log.info("%s; log: %s", job, file)
        with end_with(self._process, self._host), _output_in(out, file), log_to_file(file, alone=True):
            outcome = self._run(cfg, number)
        log.info("%s; %s after %.0f s", job, outcome.state, outcome.seconds)

    def _run(self, cfg: DictConfig, number: int) -> Outcome:
        outcome = _outcome(self.names[number], cfg)
        write_outcome(self.folder, number, outcome)
        if outcome.exit_code:
            log.error("error: %s", of_job(outcome.run, outcome.text))
        return outcome

    def _outcome(self, number: int, lost: str) -> Outcome:
        """Return how a job ended; `lost` is the state of one that left no word of it."""
        if (outcome := read_outcome(self.folder, number)) is not None:
            return outcome
        if lost == "failed":
            text = f"its process ended without a word; see {job_file(self.folder, number, 'log')}"
            return Outcome(self.names[number], "failed", 0.0, text, 1)
        return Outcome(self.names[number], "not run", 0.0, "")

    def _outcomes(self) -> list[Outcome]:
        numbers = range(len(self.names))
        return [self._outcome(number, "failed" if number < self._first else "not run") for number in numbers]

    def _progress(self) -> str:
        """Return how many jobs ended how, how many remain, and the time that they need at the rate of those done."""
        ended = [o for number in sorted(self._own) if (o := read_outcome(self.folder, number))]
        done = [outcome.seconds for outcome in ended if outcome.state == "done"]
        left = len(self.names) - len(ended)
        eta = f", ETA {timedelta(seconds=round(statistics.fmean(done) * left))}" if done else ""
        return f"{counts(ended)}, {left - 1} remaining{eta}"


@contextmanager
def _output_in(*paths: Path) -> Iterator[None]:
    """Append to two files what this process and its children write to stdout and stderr."""
    with ExitStack() as restore:
        for stream, path in zip((sys.stdout, sys.stderr), paths, strict=True):
            stream.flush()
            descriptor = 1 if stream is sys.stdout else 2
            before = os.dup(descriptor)
            restore.callback(os.close, before)
            restore.callback(os.dup2, before, descriptor)
            restore.callback(stream.flush)
            with path.open("ab") as file:
                os.dup2(file.fileno(), descriptor)
        yield


def _outcome(name: str, cfg: DictConfig) -> Outcome:
    """Run the task; an error that is no mistake of the user is logged with its traceback."""
    started = time.monotonic()
    try:
        finished: Finished | None = call_task(cfg)
    except UserError as error:
        return Outcome(name, "failed", time.monotonic() - started, " ".join(str(error).split()), 2)
    except Exception as error:
        raise_if_stopped()
        log.exception("unexpected error")
        text = f"{type(error).__name__}: {error}".splitlines()[0]
        return Outcome(name, "failed", time.monotonic() - started, text, 1)
    if finished and finished.failure:
        return Outcome(name, "failed", time.monotonic() - started, finished.failure, 1)
    skipped = finished is not None and finished.skipped
    path = str(finished.path) if finished else ""
    return Outcome(name, "skipped" if skipped else "done", time.monotonic() - started, path)
