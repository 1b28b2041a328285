"""What of a job is in the cache already; nothing is scored, drawn or fetched to find out."""

import json
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

from omegaconf import DictConfig, OmegaConf

from benchmark.core.devices import device_type
from benchmark.core.paths import cache_folder
from benchmark.core.requirements import OnFirstUseError, only_looking
from benchmark.pool.other_captions import CaptionSources
from benchmark.pool.pool import Pool
from benchmark.run.choose import Chosen, subset_path
from benchmark.run.config import USER_ERRORS, choice, make_filter, make_pool, resolved, subset_size
from benchmark.run.downstream_config import load_evaluation_sets, make_metrics, make_models
from benchmark.run.earlier_result import earlier_result, is_sweep
from benchmark.scoring.score_folder import score_folder, score_paths
from filters.base import Composite, Filter

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


def cached_stages(cfg: DictConfig) -> CachedStages:
    """Return what is cached of a job with these settings."""
    settings = OmegaConf.to_yaml(cfg.filter, resolve=True) + OmegaConf.to_yaml(cfg.pool, resolve=True)
    cached = CachedStages(choice(cfg, "filter"), None, settings, f"{settings} {subset_size(cfg)} {cfg.seed}")
    cached.trained = {str(name): False for name in cfg.downstream}
    with only_looking():
        try:
            cached.pool = pool = make_pool(cfg)
            scorer = make_filter(cfg)
            cached.scores_key = str(score_folder(pool, scorer))
            subset = subset_path(cfg, pool, scorer)
            cached.selection_key = str(subset)
        except LATER:
            return cached
        needed, cached.parts = _parts(pool, scorer)
        cached.shards = needed
        cached.selected = subset.with_suffix(".json").is_file() and not cached.missing_share
        if cached.selected and cfg.task.name in ("train", "run"):
            _look_at_trainings(cfg, subset, cached)
            cached.result = _result(cfg, pool)
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


def _look_at_trainings(cfg: DictConfig, subset: Path, cached: CachedStages) -> None:
    """Find the finished trainings; none is found where samples have other captions than their own."""
    # Imported here: the plan of a scoring or selection needs no models.
    from benchmark.run.training import training_fingerprint
    from downstream.training.checkpointing import finished

    sha256 = json.loads(subset.with_suffix(".json").read_text(encoding="utf-8"))["sha256"]
    device = device_type(cfg.device)
    if cfg.captions.columns or cfg.captions.files:
        return
    for name, model in make_models(cfg).items():
        try:
            fingerprint = training_fingerprint(model, sha256, device)
        except LATER:
            continue
        folder = cache_folder("trained", f"{model.name}-{fingerprint}")
        cached.trained[name] = finished(folder, fingerprint) is not None


def _result(cfg: DictConfig, pool: Pool) -> Path | None:
    """Return the path of the result that a sweep would not make again; a single run makes its result anew.

    A result whose filter has changed since counts as none: only a selection tells whether it stands.
    """
    if cfg.task.name != "run" or not is_sweep():
        return None
    from benchmark.run.run_protocol import run_protocol

    try:
        sets, metrics, models = load_evaluation_sets(cfg), make_metrics(cfg), make_models(cfg)
        protocol = partial(run_protocol, cfg, pool, models, sets, metrics)
        return earlier_result(cfg, pool, CaptionSources(pool, **resolved(cfg.captions)), protocol, _not_now)
    except LATER:
        return None


def _not_now() -> Chosen:
    raise OnFirstUseError("selecting needs scores")
