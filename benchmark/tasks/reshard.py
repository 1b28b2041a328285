"""``task=reshard task.output=FOLDER``: write the selected samples as tars that DataComp's train script accepts."""

from omegaconf import DictConfig

from benchmark.config import make_engine, make_pool
from benchmark.stages.choose import choose
from benchmark.stages.open_subset import open_subset
from benchmark.subset.fetch import fetch_subset
from benchmark.subset.index_tars import index_tars
from benchmark.subset.reshard import Copy, check_unused
from benchmark.subset.reshard import reshard as write_tars
from benchmark.subset.subset import selected_samples, use_metadata_captions
from benchmark.tasks.output import print_result
from benchmark.tasks.preflight import check_before_run


def reshard(cfg: DictConfig) -> None:
    """Select and reshard; print the folder. Where epochs differ, each has a folder in it."""
    check_before_run(cfg)
    folder = str(cfg.task.output).rstrip("/")
    pool, engine = make_pool(cfg), make_engine(cfg)
    check_unused(folder)  # before anything is scored
    chosen = choose(cfg, pool)
    index_tars(pool, engine)
    open_subset(pool, chosen.selection, tolerate=cfg.selection.tolerate)  # raises for unreadable samples
    local = pool if pool.is_local else fetch_subset(pool, chosen.selection.uids)
    epochs = chosen.selection.epochs
    copies = [
        Copy(
            use_metadata_captions(selected_samples(local, uids), pool),
            f"{folder}/epoch{number:03d}" if len(epochs) > 1 else folder,
        )
        for number, uids in enumerate(epochs)
    ]
    for count in write_tars(local, copies, engine, source=pool):
        print_result(f"wrote {count:,} of {chosen.manifest.k:,} samples")
    print_result(folder)
