"""``task=score``: score the pool with one filter, and nothing else."""

import numpy as np

from benchmark.core.batch import counts
from benchmark.core.errors import UserError
from benchmark.core.launch import is_main_process
from benchmark.run.job import Job
from benchmark.run.output import print_result
from benchmark.scoring.score_folder import remove_scores, score_folder, score_paths
from benchmark.scoring.score_pool import check_losses, score_pool
from benchmark.scoring.score_table import ScoreTable
from benchmark.scoring.shard_part import score_part
from filters.base import Filter


def score(job: Job) -> None:
    """Score the pool; print the mean score and the folder of the score parts."""
    if job.shards is not None:
        if job.cfg.rescore:
            raise UserError(
                f"task.shards={job.shards} with rescore=true would remove what other parts have scored; leave one"
                " of them out"
            )
        score_part(job.pool, job.filter, job.engine, job.shards)
    else:
        table = score_pairs(job)
        finite = table.scores[np.isfinite(table.scores)]
        mean = f"; mean of {len(finite):,} scores: {finite.mean(dtype=float):.4g}" if len(finite) else ""
        took = f"{table.cost.clock:,.1f} worker seconds"
        print_result(f"scored {len(table):,} pairs in {took}{mean}; dropped: {counts(table.drops) or 'none'}")
    print_result(str(score_folder(job.pool, job.filter)))


def score_pairs(job: Job, scorer: Filter | None = None) -> ScoreTable:
    """Score the pool or reuse its scores, unless `rescore` is true; say what was lost, see `check_losses`.

    `scorer` is the job's filter by default.
    """
    scorer = scorer or job.filter
    if job.cfg.rescore and is_main_process():  # the other processes of a launch read what this one makes
        remove_scores(job.pool, scorer, job.sweep)
    table = score_pool(job.pool, scorer, job.engine)
    check_losses(job.pool, table, len(score_paths(job.pool, scorer)), job.cfg.scoring.tolerate)
    return table
