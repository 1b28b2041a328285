"""``task=reshard task.output=FOLDER``: write the selected samples as tars that DataComp's train script accepts."""

from pathlib import Path

from omegaconf import DictConfig

from benchmark.config import make_pool
from benchmark.pipeline import choose
from benchmark.reshard import reshard as write_tars
from benchmark.tasks.output import say


def reshard(cfg: DictConfig) -> None:
    """Select and reshard; print the folder."""
    folder = Path(cfg.task.output)
    pool = make_pool(cfg)
    chosen = choose(cfg, pool)
    count = write_tars(pool, chosen.selection.uids, folder)
    say(f"wrote {count:,} of {chosen.manifest.k:,} samples")
    say(str(folder))
