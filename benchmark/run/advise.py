"""Use of results at smaller budgets: ``task=advise``, and ``task.stop``, which leaves out runs at a larger one."""

import logging
from collections.abc import Sequence
from pathlib import Path

from benchmark.core.errors import UserError
from benchmark.core.output_folder import local_copy
from benchmark.core.records import warn_of, write_record
from benchmark.results.protocol import key_of, size_text
from benchmark.results.report.advice import advise as advise_on
from benchmark.results.report.advice import draw_values, find_measure
from benchmark.results.report.advice_tables import advice_tables
from benchmark.results.report.certainty import RunFolders
from benchmark.results.report.frame import headlines
from benchmark.results.report.leaderboard import REFERENCES, settings_of
from benchmark.results.report.terminal import print_tables
from benchmark.results.result import Result
from benchmark.results.results_folders import ResultsFolders, read_runs
from benchmark.run.config import recorded
from benchmark.run.identity import make_protocol
from benchmark.run.job import Job
from benchmark.run.output import print_result
from benchmark.run.select import filter_record

log = logging.getLogger(__name__)
HOPE = 0.05  # a filter with a lower P(best) at a smaller budget is not run at a larger one


def advise(job: Job) -> None:
    """Print the advice, write it to ``results_dir/advice`` and print the path; ``task=report`` shows it, too."""
    hours, has_budget = job.cfg.task.hours, any(key_of(o) == "budget" for o in job.overrides)
    if has_budget == (hours is not None):
        raise UserError(
            "task=advise needs either budget= (samples) or task.hours= (scoring and training), not both"
        )
    source = ResultsFolders([job.results_dir])
    runs: dict[Path, Result] = source.read(Result)
    warn_of(source.left_out.values())
    if not runs:
        command = "python -m benchmark filter=random,clip budget=200k,500k seed=0,1"
        raise UserError(f"results_dir={job.results_dir} holds no results; run `{command}` first")
    results = list(runs.values())
    measure = find_measure(results, str(job.cfg.task.metric))
    folders = RunFolders({run.run_id: path.parent / run.run_id for path, run in runs.items()}, only=measure)
    advice = advise_on(results, folders, measure, int(job.cfg.budget) if has_budget else None, hours)
    path = write_record(job.results_dir, advice)
    print_tables(advice_tables(advice))
    print_result(str(path))


def check_seeds(jobs: Sequence[Job]) -> None:
    """Raise `UserError` if ``task.stop`` could not know the noise of training, as all runs have one seed."""
    jobs = [job for job in jobs if job.cfg.task.get("stop")]
    if len({job.cfg.budget for job in jobs}) > 1:
        with local_copy(str(jobs[0].cfg.results_dir), 0) as folder:
            seeds = {run.seed for run in read_runs(folder)} | {job.seed for job in jobs}
        if len(seeds) == 1:
            raise UserError("task.stop needs the noise of training; run two seeds or more: seed=0,1")


def given_up(job: Job) -> str:
    """Return why the job's filter is not worth a run, by ``task.stop``; empty if it is.

    Its runs at the largest smaller budget decide, by the metric or by all headline metrics. `random` and `no_filter`
    are never given up, nor is a filter while the noise of these runs is unknown. Raises `UserError` for any filter if
    the results so far do not have the metric.
    """
    stop, name, selector = job.cfg.task.stop, job.choices["filter"], job.choices["selector"]
    family = make_protocol(job).family
    results: dict[Path, Result] = ResultsFolders([job.results_dir]).read(Result)
    folders = {run.run_id: path.parent / run.run_id for path, run in results.items()}
    of_family = [run for run in results.values() if run.protocol.family == family]
    if not of_family:
        return ""
    measures = headlines(of_family) if stop is True else [find_measure(of_family, str(stop))]
    if name in REFERENCES:
        return ""
    chosen = name, selector, settings_of(recorded(job.cfg), filter_record(job))
    own = {
        run.run_id
        for run in of_family
        if (run.filter, run.selection.selector, settings_of(run.config, run.selection.config)) == chosen
    }
    reasons = list[str]()
    for measure in measures:
        budgets = {run.run_id: run.budget(measure.model) for run in of_family if measure.values(run)}
        smaller = [b for of, b in budgets.items() if of in own and b < int(job.cfg.budget)]
        if not smaller:
            return ""
        runs = [run for run in of_family if budgets.get(run.run_id) == max(smaller)]
        try:
            entries, drawn = draw_values(runs, RunFolders(folders, only=measure), measure)
        except UserError as error:
            log.warning("task.stop leaves nothing out: %s", error)
            return ""
        ours = [entry for entry in entries if not own.isdisjoint(run.run_id for run in entry.all_runs)]
        if not ours or ours[0].unfiltered or (p_best := drawn.best_filters[ours[0].label]) >= HOPE:
            return ""
        by = f"{ours[0].label} by {measure.metric} on {measure.evaluation}"
        reasons.append(f"the P(best) of {by} is {p_best:.1%} at {size_text(max(smaller))}")
    return f"{' and '.join(reasons)} (task.stop)" if reasons else ""
