"""Use of results at smaller budgets: ``task=advise``, and ``task.stop``, which leaves out runs at a larger one."""

import math
from pathlib import Path

from benchmark.core.errors import UserError
from benchmark.core.paths import portable_paths
from benchmark.core.records import warn_of, write_record
from benchmark.core.sanitize import map_values
from benchmark.results.protocol import key_of, size_text
from benchmark.results.report.advice import advise as advise_on
from benchmark.results.report.advice import chances, find_measure
from benchmark.results.report.advice_tables import advice_tables
from benchmark.results.report.certainty import RunFolders
from benchmark.results.report.leaderboard import other_captions
from benchmark.results.report.terminal import print_tables
from benchmark.results.result import Result
from benchmark.results.results_folders import ResultsFolders
from benchmark.run.config import filter_settings, recorded
from benchmark.run.identity import make_protocol
from benchmark.run.job import Job
from benchmark.run.output import print_result

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


def given_up(job: Job) -> str:
    """Return why the job's filter is not worth a run, by ``task.stop``; empty if it is.

    The runs at its largest smaller budget decide. `random` and `no_filter` are never given up. Raises `UserError` if
    the noise of these runs is unknown.
    """
    metric, family = str(job.cfg.task.stop), make_protocol(job).family
    results: dict[Path, Result] = ResultsFolders([job.results_dir]).read(Result)
    folders = {run.run_id: path.parent / run.run_id for path, run in results.items()}
    of_family = [run for run in results.values() if run.protocol.family == family]
    if not of_family:
        return ""
    measure = find_measure(of_family, metric)
    budgets = {run.run_id: run.budget(measure.model) for run in of_family if measure.values(run)}
    chosen = map_values(recorded(filter_settings(job.cfg)), str, portable_paths), job.choices["selector"]
    captions = other_captions(recorded(job.cfg))
    own = {
        run.run_id
        for run in of_family
        if budgets.get(run.run_id, math.inf) < int(job.cfg.budget)
        and (run.selection.config, run.selection.selector) == chosen
        and other_captions(run.config) == captions
    }
    budget = max((budgets[run_id] for run_id in own), default=0)
    runs = [run for run in of_family if budgets.get(run.run_id) == budget]
    for entry, p_best in chances(runs, RunFolders(folders, only=measure), measure) if own else ():
        is_own = not own.isdisjoint(run.run_id for run in entry.all_runs)
        if is_own and not entry.unfiltered and p_best < HOPE:
            at_budget = f"{p_best:.1%} at {size_text(budget)}"
            return f"the P(best) of {entry.label} by {metric} is {at_budget} (task.stop)"
    return ""
