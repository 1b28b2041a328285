"""What of a job is in the cache already; nothing is scored, drawn or fetched to find out."""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from omegaconf import OmegaConf

from benchmark.core.devices import device_type
from benchmark.core.requirements import OnFirstUseError, State
from benchmark.pool.pool import Pool
from benchmark.run.config import USER_ERRORS
from benchmark.run.job import Job
from benchmark.run.select import Selected, subset_path
from benchmark.scoring.score_folder import score_folder, score_paths
from filters.base import Composite, Filter

if TYPE_CHECKING:
    from downstream.metrics.base import CaptionMetric
    from downstream.models.base import Downstream

LATER = (*USER_ERRORS, OnFirstUseError)  # what is not there yet has no cached work either


@dataclass
class CachedStages:
    """What is cached of one job.

    Args:
        filter_name: the name of the filter's config.
        pool: the pool; None for a demo that is not drawn yet.
        scores_key: equal for jobs that share their scores.
        selection_key: equal for jobs that share their selection.
        parts: the score parts that exist, of those that the filter needs.
        shards: their number in all.
        selected: whether the selection is there.
        trained: for each downstream model, whether its training is.
        result: the path of the result that a sweep would not make again.
    """

    filter_name: str
    pool: Pool | None
    scores_key: str
    selection_key: str
    parts: list[Path] = field(default_factory=list)
    shards: int = 0
    selected: bool = False
    trained: dict[str, bool] = field(default_factory=dict)
    result: Path | None = None

    @property
    def missing_share(self) -> float:
        """The share of score parts that are missing."""
        return 1 - len(self.parts) / self.shards if self.shards else 1.0


def cached_stages(job: Job) -> CachedStages:
    """Return the stages of a job that are cached; everything that it needs has been looked at."""
    cfg = job.cfg
    settings = OmegaConf.to_yaml(cfg.filter, resolve=True) + OmegaConf.to_yaml(cfg.pool, resolve=True)
    cached = CachedStages(job.choices["filter"], None, settings, f"{settings} {job.k} {cfg.seed}")
    cached.trained = {str(name): False for name in cfg.downstream}
    cached.pool = job.listed_pool
    if cached.pool is None or not _are_here([job.filter]):
        return cached
    cached.scores_key = str(score_folder(job.pool, job.filter))
    subset = subset_path(job)
    cached.selection_key = str(subset)
    cached.shards, cached.parts = _parts(job.pool, job.filter)
    cached.selected = subset.with_suffix(".json").is_file() and not cached.missing_share
    if cached.selected and job.task in ("train", "run"):
        _look_at_trainings(job, subset, cached)
        cached.result = _result(job)
    return cached


def _parts(pool: Pool, scorer: Filter) -> tuple[int, list[Path]]:
    """Return how many score parts the filter needs, and those that exist; of a composite those of its parts.

    In a cascade, a filter that is fitted on what others keep counts as not scored until the cascade is.
    """
    paths = score_paths(pool, scorer).values()
    if not isinstance(scorer, Composite) or all(path.is_file() for path in paths):
        return len(paths), [path for path in paths if path.is_file()]
    of_leaves = [score_paths(pool, leaf).values() for leaf in scorer.leaves()]
    return sum(map(len, of_leaves)), [path for of_leaf in of_leaves for path in of_leaf if path.is_file()]


def _look_at_trainings(job: Job, subset: Path, cached: CachedStages) -> None:
    """Find the finished trainings; none is found where samples have other captions than their own."""
    # Imported here: the plan of a scoring or selection needs no models.
    from benchmark.run.train import training_fingerprint, training_folder
    from downstream.training.train_report import finished

    sha256 = json.loads(subset.with_suffix(".json").read_text(encoding="utf-8"))["sha256"]
    device = device_type(job.cfg.device)
    if job.captions:
        return
    for name, model in job.models.items():
        if _are_here([model]):
            fingerprint = training_fingerprint(model, sha256, device)
            cached.trained[name] = finished(training_folder(model, fingerprint), fingerprint) is not None


def _result(job: Job) -> Path | None:
    """Return the path of the result that a sweep would not make again; a single run makes its result anew.

    A result whose filter has changed since counts as none: only a selection tells whether it stands.
    """
    if job.task != "run" or not job.sweep or not _are_here(job.models.values(), job.metrics):
        return None
    from benchmark.run.earlier_result import earlier_result
    from benchmark.run.identity import make_protocol

    try:
        return earlier_result(job, partial(make_protocol, job), _not_now)
    except LATER:
        return None


def _are_here(*parts: Iterable[Filter | Downstream | CaptionMetric]) -> bool:
    """Return whether nothing has to be fetched or made for some parts: only then can there be cached work."""
    requirements = (r for some in parts for part in some for r in part.requirements())
    return all(r.state is not State.FIRST_USE for r in requirements)


def _not_now() -> Selected:
    raise OnFirstUseError("selecting needs scores")
