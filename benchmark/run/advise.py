"""``task=advise``: which filter, and how many pairs, at a larger budget than the results have."""

from pathlib import Path

from benchmark.core.errors import UserError
from benchmark.core.records import warn_of, write_record
from benchmark.results.protocol import key_of
from benchmark.results.report.advice import advise as advise_on
from benchmark.results.report.advice import find_measure
from benchmark.results.report.advice_tables import advice_tables
from benchmark.results.report.certainty import RunFolders
from benchmark.results.report.terminal import print_tables
from benchmark.results.result import Result
from benchmark.results.results_folders import ResultsFolders
from benchmark.run.job import Job
from benchmark.run.output import print_result


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
