"""``task=reshard task.output=FOLDER``: write the selected samples as tars that DataComp's train script accepts."""

from omegaconf import DictConfig

from benchmark.pool.fetch import fetch_subset
from benchmark.pool.reshard import check_unused
from benchmark.pool.reshard import reshard as write_tars
from benchmark.pool.subset import index_tars, selected_samples, use_metadata_captions
from benchmark.run.choose import choose
from benchmark.run.config import make_engine, make_pool
from benchmark.run.open_subset import open_subset
from benchmark.run.output import print_result
from benchmark.run.preflight import check_before_run


def reshard(cfg: DictConfig) -> None:
    """Select and reshard; print the folder. If epochs differ, each has a folder in it."""
    check_before_run(cfg)
    pool, engine = make_pool(cfg), make_engine(cfg)
    folder = str(cfg.task.output).rstrip("/")
    check_unused(folder)  # before anything is scored
    selection = choose(cfg, pool).selection
    index_tars(pool, engine)
    open_subset(pool, selection, tolerate=float(cfg.selection.tolerate))  # raises for unreadable samples
    local = pool if pool.is_local else fetch_subset(pool, selection.uids)
    for number, uids in enumerate(selection.epochs):
        parts = use_metadata_captions(selected_samples(local, uids), pool)
        location = f"{folder}/epoch{number:03d}" if len(selection.epochs) > 1 else folder
        count = write_tars(local, parts, location, engine, source=pool)
        print_result(f"wrote {count:,} of {len(uids):,} samples")
    print_result(folder)
