"""Results at smaller budgets: ``task=advise``, and runs at a larger budget that ``task.stop`` leaves out."""

import logging
from collections import defaultdict
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


def given_up(job: Job) -> Path | None:
    """Return the record of a run which shows that the job's filter is not worth a run, by ``task.stop``, else None.

    It is of the largest smaller budget that has results. `random` and `no_filter` are never given up. Raises
    `UserError` if the noise of these results is unknown.
    """
    metric, family = str(job.cfg.task.stop), make_protocol(job).family
    results: dict[Path, Result] = ResultsFolders([job.results_dir]).read(Result)
    paths = {run.run_id: path for path, run in results.items()}
    of_family = [run for run in results.values() if run.protocol.family == family]
    if not of_family:
        return None
    measure = find_measure(of_family, metric)
    by_budget = defaultdict[int, list[Result]](list)
    for run in of_family:
        if measure.values(run):
            by_budget[run.budget(measure.model)].append(run)
    budget = max((of for of in by_budget if of < int(job.cfg.budget)), default=0)
    chosen = map_values(recorded(filter_settings(job.cfg)), str, portable_paths), job.choices["selector"]
    captions, runs = other_captions(recorded(job.cfg)), by_budget[budget]
    own = [
        run.run_id
        for run in runs
        if (run.selection.config, run.selection.selector) == chosen and other_captions(run.config) == captions
    ]
    folders = RunFolders({run.run_id: paths[run.run_id].parent / run.run_id for run in runs}, only=measure)
    for entry, p_best in chances(runs, folders, measure) if own else ():
        shown = next((run for run in entry.all_runs if run.run_id in own), None)
        if shown and not entry.unfiltered and p_best < HOPE:
            at_budget = f"at {size_text(budget)} its P(best) by {metric} is {p_best:.1%}"
            log.info("filter=%s is not run at this budget: %s (task.stop)", job.choices["filter"], at_budget)
            return paths[shown.run_id]
    return None
