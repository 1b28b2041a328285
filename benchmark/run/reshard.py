"""``task=reshard task.output=FOLDER``: write the selected samples as tars that DataComp's train script accepts."""

from benchmark.pool.fetch import fetch_subset
from benchmark.pool.reshard import check_unused
from benchmark.pool.reshard import reshard as write_tars
from benchmark.pool.subset import index_tars, selected_samples, use_metadata_captions
from benchmark.run.job import Job
from benchmark.run.open_samples import open_subset
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
    local = pool if pool.is_local else fetch_subset(pool, selection.uids)
    for number, uids in enumerate(selection.epochs):
        parts = use_metadata_captions(selected_samples(local, uids), pool)
        location = f"{folder}/epoch{number:03d}" if len(selection.epochs) > 1 else folder
        every = job.cfg.task.members == "all"
        count = write_tars(local, parts, location, job.engine, source=pool, every_member=every)
        print_result(f"wrote {count:,} of {len(uids):,} samples")
    print_result(folder)
