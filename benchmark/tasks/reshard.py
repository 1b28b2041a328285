"""``task=reshard task.output=FOLDER``: write the selected samples as tars that DataComp's train script accepts."""

from pathlib import Path

from omegaconf import DictConfig

from benchmark.config import make_pool, share
from benchmark.core.batch import IMAGE_MISSING
from benchmark.pipeline import choose, open_subset
from benchmark.subset.readable import check_readable
from benchmark.subset.reshard import reshard as write_tars
from benchmark.subset.subset import selected_samples, use_metadata_captions
from benchmark.tasks.output import print_result
from benchmark.tasks.preflight import check_before_run


def reshard(cfg: DictConfig) -> None:
    """Select and reshard; print the folder. Where epochs differ, each has a folder in it."""
    check_before_run(cfg)
    folder = Path(cfg.task.output)
    pool, tolerate = make_pool(cfg), share(cfg, "selection.tolerate")
    chosen = choose(cfg, pool)
    epochs = chosen.selection.epochs
    if pool.is_local:  # to raise for unreadable samples; those of a remote pool would be fetched twice
        open_subset(pool, chosen.selection, tolerate=tolerate)
    for number, uids in enumerate(epochs):
        parts = use_metadata_captions(selected_samples(pool, uids), pool)
        if not pool.is_local:
            missing = len(uids) - sum(len(part.samples) for part in parts)
            check_readable(len(uids), {IMAGE_MISSING: missing}, tolerate)
        count = write_tars(pool, parts, folder / f"epoch{number:03d}" if len(epochs) > 1 else folder)
        print_result(f"wrote {count:,} of {chosen.manifest.k:,} samples")
    print_result(str(folder))
