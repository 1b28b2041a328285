"""``task=reshard task.output=FOLDER``: write the selected samples as tars that DataComp's train script accepts."""

from pathlib import Path

from omegaconf import DictConfig

from benchmark.config import make_pool
from benchmark.pipeline import choose
from benchmark.subset.reshard import reshard as write_tars
from benchmark.subset.subset import selected_samples, use_metadata_captions
from benchmark.tasks.output import print_result
from benchmark.tasks.preflight import check_before_run


def reshard(cfg: DictConfig) -> None:
    """Select and reshard; print the folder. Where epochs differ, each has a folder in it."""
    check_before_run(cfg)
    folder = Path(cfg.task.output)
    pool = make_pool(cfg)
    chosen = choose(cfg, pool)
    epochs = chosen.selection.epochs
    for number, uids in enumerate(epochs):
        parts = use_metadata_captions(selected_samples(pool, uids), pool)
        count = write_tars(pool, parts, folder / f"epoch{number:03d}" if len(epochs) > 1 else folder)
        print_result(f"wrote {count:,} of {chosen.manifest.k:,} samples")
    print_result(str(folder))
