"""Work that jobs of a sweep share, done for all of them before the first; each job then finds it done.

A task takes part with an entry in `SHARED`. What is wrong with a single job is left to that job, which says it.
"""

import json
from collections.abc import Callable, Iterable
from pathlib import Path

from omegaconf import DictConfig

from benchmark.engine.base import Engine
from benchmark.pool.pool import Pool
from benchmark.run.choose import sweep_folder
from benchmark.run.config import (
    USER_ERRORS,
    filter_settings,
    make_engine,
    make_filter,
    make_pool,
    resolved,
)
from benchmark.run.run_id import make_run_id
from benchmark.scoring.score_folder import remove_scores
from benchmark.scoring.score_pool import check_columns
from benchmark.scoring.work_ahead import extract_shared
from filters.base import Filter

Jobs = Iterable[DictConfig]  # can be iterated several times; Hydra answers as in the job that is at hand


def share_work(task: str, jobs: Jobs) -> None:
    """Do what several jobs of a task share; nothing for a task that shares nothing."""
    for share in SHARED.get(task, ()):
        share(jobs)


def extract_together(jobs: Jobs) -> None:
    """Extract the features of images that the jobs' filters lack, see `extract_shared`."""
    pools: dict[str, tuple[Pool, Engine]] = {}
    scorers: dict[str, dict[str, Filter]] = {}
    for cfg in jobs:
        if cfg.shards is not None or _has_result(cfg):
            continue
        try:
            place = json.dumps([resolved(cfg.pool), resolved(cfg.engine)], sort_keys=True)
            if place not in pools:
                pools[place] = make_pool(cfg), make_engine(cfg)
            settings = json.dumps(resolved(filter_settings(cfg)), sort_keys=True)
            if settings not in scorers.setdefault(place, {}):
                scorer, (pool, _) = make_filter(cfg), pools[place]
                check_columns(pool, scorer)
                scorers[place][settings] = scorer
                if cfg.rescore:
                    remove_scores(pool, scorer, sweep_folder())
        except USER_ERRORS:
            continue  # raised again by the job
    for place, of_pool in scorers.items():
        pool, engine = pools[place]
        extract_shared(pool, of_pool.values(), engine)


def _has_result(cfg: DictConfig) -> bool:
    """Return whether a run may find its result made, so that it need not score."""
    if cfg.task.name != "run" or cfg.rescore:
        return False
    return (Path(cfg.results_dir) / f"{make_run_id(cfg, None)}.json").is_file()


# By the task's name, in order.
SHARED: dict[str, tuple[Callable[[Jobs], None], ...]] = {
    "score": (extract_together,),
    "select": (extract_together,),
    "export": (extract_together,),
    "train": (extract_together,),
    "run": (extract_together,),
    "reshard": (extract_together,),
}
