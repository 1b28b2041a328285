"""Features that the filters of a sweep share: extracted for all jobs before the first, which then finds them."""

import json
from collections.abc import Iterable

from benchmark.run.config import USER_ERRORS, filter_settings, make_filter, resolved
from benchmark.run.identity import make_run_id
from benchmark.run.job import Job
from benchmark.scoring.score_folder import remove_scores
from benchmark.scoring.score_pool import check_columns
from benchmark.scoring.work_ahead import extract_shared
from filters.base import Filter

SELECTING = ("score", "select", "export", "train", "run", "reshard")


def extract_together(jobs: Iterable[Job]) -> None:
    """Extract the features of images that the jobs' filters lack, see `extract_shared`.

    A mistake in a single job is left to that job, which raises it again.
    """
    chosen: dict[str, tuple[Job, dict[str, Filter]]] = {}
    for job in jobs:
        if job.task not in SELECTING or job.shards is not None or _has_result(job):
            continue
        try:
            place = json.dumps([resolved(job.cfg.pool), resolved(job.cfg.engine)], sort_keys=True)
            settings = json.dumps(resolved(filter_settings(job.cfg)), sort_keys=True)
            first, filters = chosen.setdefault(place, (job, {}))
            if settings not in filters:
                scorer = make_filter(job.cfg, job.choices)  # dropped below with its weights, unlike the job's
                check_columns(first.pool, scorer)
                filters[settings] = scorer
                if job.cfg.rescore:
                    remove_scores(first.pool, scorer, job.sweep)
        except USER_ERRORS:
            continue
    for first, filters in chosen.values():
        if filters:
            extract_shared(first.pool, filters.values(), first.engine)


def _has_result(job: Job) -> bool:
    """Return whether a run may find its result made, so that it need not score."""
    if job.task != "run" or job.cfg.rescore:
        return False
    return (job.results_dir / f"{make_run_id(job, None)}.json").is_file()
