"""``task=publish task.output=FOLDER``: write a pool's scores as parquet files that others read, with a card."""

import numpy as np

from benchmark.core.errors import UserError
from benchmark.core.hashes import hash_bytes, hash_json
from benchmark.core.output_folder import OutputFolder
from benchmark.pool.content import pool_content
from benchmark.pool.reshard import check_unused, claim
from benchmark.results.report.score_card import score_card
from benchmark.run.config import TYPED, filter_settings, recorded
from benchmark.run.job import Job
from benchmark.run.output import print_result
from benchmark.run.score import score_pairs
from benchmark.scoring.published import write_scores


def publish(job: Job) -> None:
    """Score, and write the folder; its path is the last line on stdout."""
    location = str(job.cfg.task.output).rstrip("/")
    check_unused(location)  # before anything is scored
    table, folder = score_pairs(job), OutputFolder(location)
    if np.isnan(table.scores).all():
        raise UserError(
            f"filter={job.choices['filter']} gives no pair of the pool a score; choose another filter"
        )
    identity = hash_json([hash_bytes(table.uids.tobytes()), hash_bytes(table.scores.tobytes())], 16)
    claim(folder, identity)
    urls = write_scores(folder, job.pool, table)
    card = score_card(
        job.pool.name,
        pool_content(job.pool),
        job.filter,
        table,
        urls,
        job.bounds,
        recorded(filter_settings(job.cfg)),
        recorded(list(TYPED or job.overrides)),
    )
    folder.write_text("README.md", card)
    print_result(f"wrote the scores of {len(table):,} pairs")
    print_result(location)
