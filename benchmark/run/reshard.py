"""``task=reshard task.output=FOLDER``: write the selected samples as tars that DataComp's train script accepts."""

import json
from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from omegaconf import DictConfig

from benchmark.core.errors import UserError
from benchmark.engine.base import Engine
from benchmark.pool.fetch import fetch_subset
from benchmark.pool.index_tars import index_tars
from benchmark.pool.pool import Pool
from benchmark.pool.readable import count_unreadable
from benchmark.pool.reshard import Copy, check_copy, check_unused
from benchmark.pool.reshard import reshard as write_tars
from benchmark.pool.subset import selected_samples, use_metadata_captions
from benchmark.run.choose import choose
from benchmark.run.config import USER_ERRORS, make_engine, make_pool, resolved
from benchmark.run.open_subset import open_subset
from benchmark.run.output import print_result
from benchmark.run.preflight import check_before_run
from benchmark.selection.selection import Selection

TOGETHER = 4_000_000  # samples of all subsets that are written in one pass, which take two gigabytes


@dataclass(frozen=True)
class Selected:
    """What a job writes to which folder: its selection, of which the share `tolerate` may be unreadable."""

    selection: Selection
    folder: str
    tolerate: float

    @property
    def samples(self) -> int:
        """The number of samples of all epochs."""
        return sum(map(len, self.selection.epochs))


def reshard(cfg: DictConfig) -> None:
    """Select and reshard; print the folder. Where epochs differ, each has a folder in it."""
    check_before_run(cfg)
    pool, engine = make_pool(cfg), make_engine(cfg)
    selected = _select(cfg, pool)
    index_tars(pool, engine)
    open_subset(pool, selected.selection, tolerate=selected.tolerate)  # raises for unreadable samples
    local = pool if pool.is_local else fetch_subset(pool, selected.selection.uids)
    for count in write_tars(local, _copies(local, pool, selected), engine, source=pool):
        print_result(f"wrote {count:,} of {len(selected.selection.epochs[0]):,} samples")
    print_result(selected.folder)


def reshard_together(jobs: Iterable[DictConfig]) -> None:
    """Write the subsets of several jobs on the same local pool: each tar is read once for all, or few times.

    A job finds its tars written, as if it had been killed after them. One that cannot select or write is left out.

    Args:
        jobs: their settings; Hydra answers as in the job that is at hand.
    """
    pools: dict[str, tuple[Pool, Engine]] = {}
    waiting: dict[str, list[Selected]] = defaultdict(list)
    folders = set[str]()
    for cfg in jobs:
        try:
            place = json.dumps([resolved(cfg.pool), resolved(cfg.engine)], sort_keys=True)
            if place not in pools:
                pools[place] = make_pool(cfg), make_engine(cfg)
            pool, engine = pools[place]
            if not pool.is_local or str(cfg.task.output) in folders:
                continue
            selected = _select(cfg, pool)
        except USER_ERRORS:
            continue  # raised again by the job
        folders.add(str(cfg.task.output))
        if selected.samples + sum(of.samples for of in waiting[place]) > TOGETHER:
            _write_together(pool, engine, waiting.pop(place))
        waiting[place].append(selected)
    for place, of_pool in waiting.items():
        _write_together(*pools[place], of_pool)


def _write_together(pool: Pool, engine: Engine, of_pool: Sequence[Selected]) -> None:
    if len(of_pool) < 2:
        return
    index_tars(pool, engine)
    count_unreadable(pool, [(selected.selection.uids, selected.selection.sha256) for selected in of_pool])
    copies: list[Copy] = []
    for selected in of_pool:
        try:
            open_subset(pool, selected.selection, tolerate=selected.tolerate)
            of_job = _copies(pool, pool, selected)
            for copy in of_job:
                check_copy(pool, copy)
        except UserError:
            continue  # raised again by the job
        copies += of_job
    write_tars(pool, copies, engine)


def _select(cfg: DictConfig, pool: Pool) -> Selected:
    folder = str(cfg.task.output).rstrip("/")
    check_unused(folder)  # before anything is scored
    return Selected(choose(cfg, pool).selection, folder, float(cfg.selection.tolerate))


def _copies(local: Pool, pool: Pool, selected: Selected) -> list[Copy]:
    """Return a copy per epoch; `local` has the tars, and `pool` the captions that count."""
    epochs, folder = selected.selection.epochs, selected.folder
    return [
        Copy(
            use_metadata_captions(selected_samples(local, uids), pool),
            f"{folder}/epoch{number:03d}" if len(epochs) > 1 else folder,
        )
        for number, uids in enumerate(epochs)
    ]
