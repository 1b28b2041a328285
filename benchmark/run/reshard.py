"""``task=reshard task.output=FOLDER``: write the selected samples as tars that DataComp's train script accepts."""

from benchmark.pool.reshard import check_unused
from benchmark.pool.subset import index_tars
from benchmark.run.job import Job
from benchmark.run.open_samples import open_subset, write_shards
from benchmark.run.output import print_result
from benchmark.run.score import score_pairs
from benchmark.run.select import select_pairs


def reshard(job: Job) -> None:
    """Select and reshard; print the folder. If epochs differ, each has a folder in it."""
    folder = str(job.cfg.task.output).rstrip("/")
    check_unused(folder)  # before anything is scored
    pool, selection = job.pool, select_pairs(job, score_pairs(job)).selection
    index_tars(pool, job.engine)
    open_subset(pool, selection, tolerate=job.cfg.selection.tolerate)  # raises for unreadable samples
    for number, uids in enumerate(selection.epochs):
        location = f"{folder}/epoch{number:03d}" if len(selection.epochs) > 1 else folder
        count = write_shards(pool, uids, location, job.engine, every_member=job.cfg.task.members == "all")
        print_result(f"wrote {count:,} of {len(uids):,} samples")
    print_result(folder)
