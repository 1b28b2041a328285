"""The jobs of a sweep, run one after the other; a failed job does not stop the others."""

from __future__ import annotations

import logging
import multiprocessing
import statistics
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from contextlib import ExitStack, suppress
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path
from tempfile import NamedTemporaryFile, mkdtemp
from typing import Any, Literal, get_args

from hydra.core.hydra_config import HydraConfig
from hydra.types import TaskFunction
from hydra.utils import get_method
from omegaconf import DictConfig

from benchmark.cli.jobs import SweepJob, check_jobs, make_job, print_plan
from benchmark.cli.mistakes import end_with_mistakes, name_job, own_bug
from benchmark.cli.process import is_stop, raise_if_stopped
from benchmark.core.errors import UserError, disk_errors_as_one_line, panics_as_errors
from benchmark.core.launch import is_main_process, process_count
from benchmark.core.output_folder import local_copy
from benchmark.core.paths import cache_folder, remote_paths
from benchmark.core.progress import configure_logging, log_to_file
from benchmark.core.records import scan_records
from benchmark.core.sanitize import redact
from benchmark.results.report.certainty import RunFolders
from benchmark.results.report.leaderboard import leaderboards
from benchmark.results.report.leaderboard_tables import summary_table
from benchmark.results.report.table import Table, plain
from benchmark.results.report.terminal import print_tables
from benchmark.results.result import Result
from benchmark.results.results_folders import each_once
from benchmark.run.advise import check_seeds
from benchmark.run.config import (
    USER_ERRORS,
    explain,
    filter_settings,
    make_filter,
    register_resolvers,
    resolved,
)
from benchmark.run.identity import make_run_id
from benchmark.run.job import SCORE, Job
from benchmark.run.output import Finished
from benchmark.scoring.shard_work import extract_shared
from filters.base import Filter

log = logging.getLogger(__name__)
State = Literal["done", "skipped", "failed", "left out", "not run"]


@dataclass(frozen=True)
class Outcome:
    """How a job ended; `text` is the path of its result, the error's line, or why it was left out."""

    run: str
    state: State
    seconds: float = 0.0
    text: str = ""
    exit_code: int = 0


def run_sweeps(
    sweeps: Sequence[Sequence[str]], jobs: Sequence[SweepJob], with_hydra: Callable[[TaskFunction], Any]
) -> int:
    """Check all jobs, run one sweep after the other, print how each job ended; return the command's exit code.

    `sweeps` come from `planned_sweeps`, `jobs` from `compose_jobs`. Launchers other than the default run each job as
    a command by itself: `with_hydra` decorates a function of the configuration, which then runs for every
    combination in `sys.argv`.
    Raises `MistakesError` if a job cannot run; then none does.
    """
    checked = check_jobs(jobs)
    check_seeds(checked)
    if any(job.composed.plan for job in jobs):
        print_plan((job.name, made) for job, made in zip(jobs, checked, strict=True))
        return 0
    if {job.task for job in checked} in ({"doctor"}, {"fetch"}):  # one list for all jobs
        with disk_errors_as_one_line():
            get_method(checked[0].cfg.task._target_)(*checked)
        return 0
    sweep = Sweep([job.name for job in jobs])
    log.info("sweep: %d jobs; their logs are in %s", len(jobs), sweep.folder)
    if not all(job.runs_here for job in jobs):
        for arguments in sweeps:
            sys.argv[1:] = [*arguments, f"hydra.sweep.dir='{sweep.folder}'"]
            with_hydra(run_launched)()
        errors = sorted(path.read_text(encoding="utf-8") for path in sweep.folder.glob("error-*"))
        if errors:
            end_with_mistakes(*(error.partition(" ")[2] for error in errors), exit_code=int(errors[0][0]))
        return 0
    try:
        for index in range(len(sweeps)):
            sweep.run([(job, made) for job, made in zip(jobs, checked, strict=True) if job.sweep == index])
    finally:
        if not is_stop(sys.exc_info()[1]) and is_main_process():
            print_tables(outcome_tables(sweep.outcomes), stderr=True)
    return min((outcome.exit_code for outcome in sweep.outcomes if outcome.exit_code), default=0)


def run_launched(cfg: DictConfig) -> None:
    """Run a job that another launcher of Hydra started, in whichever process; leave a file with its error."""
    # joblib's processes have a start method that the processes which they start do not know.
    multiprocessing.set_start_method("forkserver", force=True)
    register_resolvers()
    configure_logging()
    hydra = HydraConfig.get()
    outcome = _ended(f"job {hydra.job.num + 1}", lambda: make_job(cfg, hydra).run())
    if outcome.exit_code:  # not raised: Hydra would print the overrides, with passwords
        with NamedTemporaryFile("w", prefix="error-", dir=hydra.sweep.dir, delete=False) as file:
            file.write(f"{outcome.exit_code} {outcome.run}: {outcome.text}")


class Sweep:
    """The jobs of one command, given by their names, and how each ended. Their logs are in the sweep's folder."""

    def __init__(self, names: Sequence[str]) -> None:
        self.outcomes = [Outcome(name, "not run") for name in names]
        folders = cache_folder("sweeps")
        with disk_errors_as_one_line(folders):
            folders.mkdir(parents=True, exist_ok=True)
            self.folder = Path(mkdtemp(prefix=time.strftime("%Y%m%d-%H%M%S-"), dir=folders))

    def run(self, jobs: Sequence[tuple[SweepJob, Job]]) -> None:
        """Run the next jobs, each with its checked job, one after the other."""
        for _, job in jobs:
            job.sweep = self.folder
        if process_count() == 1:  # in a launch one process scores while the others wait, job by job
            self._share_work([job for _, job in jobs])
        first = sum(outcome.state != "not run" for outcome in self.outcomes)
        for number, (composed, job) in enumerate(jobs, first):
            HydraConfig.instance().set_config(composed.composed)
            with log_to_file(self.folder / f"job-{number + 1:03d}.log"):
                title = f"job {number + 1} of {len(self.outcomes)}: {composed.name}"
                log.info("%s; %s", title, self._progress())
                outcome = self.run_job(job.run, number)
            if outcome.exit_code and process_count() > 1:
                sys.exit(outcome.exit_code)  # ends the launch: its other processes would wait for this one

    def _share_work(self, jobs: Sequence[Job]) -> None:
        """Extract the features that jobs share; whatever goes wrong, each job then does its own part of it."""
        try:
            with log_to_file(self.folder / "shared.log"), panics_as_errors():
                extract_together(jobs)
        except USER_ERRORS as error:
            log.warning("the jobs share no work: %s", explain(error))
        except Exception:
            raise_if_stopped()
            log.exception("the jobs share no work, for an unexpected error")

    def run_job(self, run: Callable[[], Finished | None], number: int) -> Outcome:
        """Run a job, and note how it ended."""
        outcome = self.outcomes[number] = _ended(self.outcomes[number].run, run)
        if outcome.exit_code:
            log.error("error: %s", name_job(outcome.run, outcome.text))
        return outcome

    def _progress(self) -> str:
        """Return how many jobs ended how, how many remain, and the time that they need at the rate of those done."""
        ended = [outcome for outcome in self.outcomes if outcome.state != "not run"]
        done = [outcome.seconds for outcome in ended if outcome.state == "done"]
        left = len(self.outcomes) - len(ended)
        eta = f", ETA {timedelta(seconds=round(statistics.fmean(done) * left))}" if done else ""
        return f"{counts(ended)}, {left - 1} remaining{eta}"


def _ended(name: str, run: Callable[[], Finished | None]) -> Outcome:
    """Run a job; an error that the user did not cause is logged with its traceback.

    The outcome's text has no credentials, and URLs in place of the local copies of remote folders.
    """
    started = time.monotonic()
    state: State = "failed"
    try:
        finished = run()
        text, exit_code = (finished.failure, 1) if finished and finished.failure else ("", 0)
        if not exit_code:
            state = "skipped" if finished and finished.skipped else "done"
            text = str(finished.path) if finished else ""
        if finished and finished.left_out:
            state, text = "left out", finished.left_out
    except UserError as error:
        text, exit_code = " ".join(str(error).split()), 2
    except Exception as error:
        raise_if_stopped()
        log.exception("unexpected error")
        text, exit_code = (own_bug(error) or f"{type(error).__name__}: {error}").splitlines()[0], 1
    return Outcome(name, state, time.monotonic() - started, redact(remote_paths(text)), exit_code)


def counts(outcomes: Sequence[Outcome]) -> str:
    """Return how many jobs ended how, for example ``3 done, 1 skipped, 0 failed``."""
    number = Counter(outcome.state for outcome in outcomes)
    return ", ".join(
        f"{number[s]} {s}" for s in get_args(State) if number[s] or s in ("done", "skipped", "failed")
    )


def outcome_tables(outcomes: Sequence[Outcome]) -> list[Table]:
    """Return a row per job with its state, seconds, and result or error; then the headline metrics per protocol."""
    rows = [plain(o.run, o.state, f"{o.seconds:.1f}", o.text) for o in outcomes]
    title = f"Sweep of {len(outcomes)} runs: {counts(outcomes)}"
    finished = [o for o in outcomes if o.state in ("done", "skipped") and o.text]
    names = {o.text.rpartition("/")[::2] for o in finished}  # by folder, which may be a URL, and file
    places: dict[str, Path] = {}
    results: dict[Path, Result] = {}
    with ExitStack() as copies:  # the tables read scores of single images
        for folder in sorted({folder for folder, _ in names}):
            copy = copies.enter_context(local_copy(folder))
            made = {p: r for p, r in scan_records(copy, Result)[0].items() if (folder, p.name) in names}
            places |= {result.run_id: copy / result.run_id for result in made.values()}
            results |= made
        boards = leaderboards(each_once(results).values())
        summaries = [summary_table(board, RunFolders(places), boards) for board in boards]
    return [Table(title, ["run", "state", "seconds", "result or error"], rows), *summaries]


def extract_together(jobs: Iterable[Job]) -> None:
    """Extract the features of images that the jobs' filters lack in one pass, see `extract_shared`.

    A mistake in a single job is left to that job, which raises it again. With `rescore` each job extracts its own.
    """
    chosen: dict[str, tuple[Job, dict[str, Filter]]] = {}
    for job in jobs:
        if not job.needs(job.task) >= SCORE or job.shards is not None or job.cfg.rescore:
            continue
        with suppress(*USER_ERRORS):
            if job.task == "run" and (job.results_dir / f"{make_run_id(job, None)}.json").is_file():
                continue
            scorer = make_filter(job.cfg, job.choices)  # dropped below with its weights, unlike the job's
            _, filters = chosen.setdefault(f"{resolved(job.cfg.pool)} {resolved(job.cfg.engine)}", (job, {}))
            filters[str(resolved(filter_settings(job.cfg)))] = scorer
    for first, filters in chosen.values():
        extract_shared(first.pool, filters.values(), first.engine)
