"""The jobs of a sweep, run one after the other or by a launcher; one that fails does not stop the others."""

from __future__ import annotations

import logging
import os
import signal
import socket
import statistics
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from datetime import timedelta
from functools import partial
from pathlib import Path
from tempfile import mkdtemp
from typing import TYPE_CHECKING, Any

from hydra.core.hydra_config import HydraConfig
from hydra.types import TaskFunction
from omegaconf import DictConfig

from benchmark.cli.jobs import SweepJob, check_jobs, make_job, print_plan
from benchmark.cli.mistakes import name_job
from benchmark.cli.outcomes import Outcome, counts, job_file, outcome_tables, read_outcome, write_outcome
from benchmark.cli.process import end_with, is_stop, raise_if_stopped
from benchmark.core.errors import UserError, disk_errors_as_one_line
from benchmark.core.launch import is_main_process, process_count
from benchmark.core.paths import cache_folder
from benchmark.core.progress import configure_logging, log_to_file
from benchmark.results.report.terminal import print_tables
from benchmark.run.config import USER_ERRORS, explain, register_resolvers
from benchmark.run.output import Finished

if TYPE_CHECKING:
    from benchmark.run.job import Job

log = logging.getLogger(__name__)


def run_sweeps(
    sweeps: Sequence[Sequence[str]], jobs: Sequence[SweepJob], with_hydra: Callable[[TaskFunction], Any]
) -> int:
    """Check all jobs, run one sweep after the other, print how each job ended; return the command's exit code.

    Args:
        sweeps: the arguments of each sweep, as `planned_sweeps` returns them.
        jobs: the jobs of all sweeps, as `compose_jobs` returns them.
        with_hydra: the decorator that runs a function of the configuration for every combination in `sys.argv`.

    Raises:
        WrongJobsError: a job cannot run; then none does.
    """
    checked = check_jobs(jobs)
    if any(job.composed.plan for job in jobs):
        print_plan((job.name, made) for job, made in zip(jobs, checked, strict=True))
        return 0
    sweep = Sweep([job.name for job in jobs])
    log.info("sweep: %d jobs; their logs are in %s", len(jobs), sweep.folder)
    try:
        for index, arguments in enumerate(sweeps):
            of_sweep = [job for job in jobs if job.sweep == index]
            if all(job.runs_here for job in of_sweep):
                sweep.run_here(
                    of_sweep,
                    [made for job, made in zip(jobs, checked, strict=True) if job.sweep == index],
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

    def run_here(self, jobs: Sequence[SweepJob], checked: Sequence[Job]) -> None:
        """Run the next jobs one after the other in this process.

        Args:
            jobs: the jobs.
            checked: what `check_jobs` returned of them.
        """
        for job, made in zip(jobs, checked, strict=True):
            job.place(self.folder)
            made.sweep = self.folder
        if process_count() == 1:  # in a launch one process scores while the others wait, job by job
            self._share_work(checked)
        for number, (job, made) in enumerate(zip(jobs, checked, strict=True), self._first):
            with job.settings():
                self._run_in_process(partial(_checked, made), number)

    def _share_work(self, jobs: Sequence[Job]) -> None:
        """Extract the features that jobs share; whatever goes wrong, each job then does its own part of it."""
        from benchmark.run.shared_work import extract_together  # imported with torch

        try:
            with log_to_file(self.folder / "shared.log"):
                extract_together(jobs)
        except USER_ERRORS as error:
            log.warning("the jobs share no work: %s", explain(error))
        except Exception:
            raise_if_stopped()
            log.exception("the jobs share no work, for an unexpected error")

    def run(self, cfg: DictConfig) -> None:
        """Run the task of a job that Hydra launched, in whichever process; errors are kept for the sweep's end."""
        number = self._first + int(HydraConfig.get().job.num)
        make = partial(make_job, cfg, HydraConfig.get())
        if (os.getpid(), socket.gethostname()) == (self._process, self._host):
            self._run_in_process(make, number)
        else:
            self._run_in_worker(make, number)

    def _run_in_process(self, make: Callable[[], Job], number: int) -> None:
        """Run a job in the process of the sweep."""
        self._own.add(number)
        with log_to_file(job_file(self.folder, number, "log")):
            log.info(
                "job %d of %d: %s; %s", number + 1, len(self.names), self.names[number], self._progress()
            )
            outcome = self._run(make, number)
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
                log.error("error: %s", name_job(outcome.run, outcome.text))
        self._first += jobs

    @property
    def exit_code(self) -> int:
        """0 if no job failed, 2 if users can correct all that did, else 1."""
        return min((outcome.exit_code for outcome in self._outcomes() if outcome.exit_code), default=0)

    def print_outcomes(self) -> None:
        """Print a row per job, and the headline metrics of those with a result."""
        if is_main_process():
            print_tables(outcome_tables(self._outcomes()), stderr=True)

    def _run_in_worker(self, make: Callable[[], Job], number: int) -> None:
        signal.signal(signal.SIGINT, signal.SIG_IGN)  # the process that launched this one ends it
        register_resolvers()
        configure_logging()
        job = f"job {number + 1} of {len(self.names)}: {self.names[number]}"
        out, file = (job_file(self.folder, number, suffix) for suffix in ("out", "log"))
        log.info("%s; log: %s", job, file)
        with end_with(self._process, self._host), _output_in(out, file), log_to_file(file, alone=True):
            outcome = self._run(make, number)
        log.info("%s; %s after %.0f s", job, outcome.state, outcome.seconds)

    def _run(self, make: Callable[[], Job], number: int) -> Outcome:
        outcome = _outcome(self.names[number], make)
        write_outcome(self.folder, number, outcome)
        if outcome.exit_code:
            log.error("error: %s", name_job(outcome.run, outcome.text))
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


def _checked(job: Job) -> Job:
    return job


def _outcome(name: str, make: Callable[[], Job]) -> Outcome:
    """Make a job and run it; an error that is no mistake of the user is logged with its traceback."""
    started = time.monotonic()
    try:
        finished: Finished | None = make().run()
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
