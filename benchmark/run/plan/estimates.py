"""What the stages of a job will cost, from what they cost earlier; None where no earlier run says."""

import json
import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from omegaconf import DictConfig, OmegaConf

from benchmark.pool.pool import Pool
from benchmark.results.protocol import LIMIT
from benchmark.results.result import Result
from benchmark.run.config import filter_settings, recorded
from benchmark.run.plan.cached_stages import CachedStages
from benchmark.run.plan.recorded_costs import Cost, RecordedCosts, settings_text
from benchmark.scoring.score_parts import read_part_info, total_cost
from downstream.training.trainer import recipe_key

OVERHEAD = ("pool", "subset", "describe")  # stages that every run has, and of which none takes long
SAMPLED_PARTS = 8
# Of processors, measured on the machine of the reference results: the evaluation sets, and a pair of the pool.
DRAWING_SECONDS, DRAWING_SECONDS_PER_PAIR = 7.5, 0.0015
# What of a training's settings does not change the cost of a sample.
FREE = {"samples_seen", "seed", "lr", "warmup_ratio", "weight_decay"}
FREE |= {"checkpoint_every", "log_every", "workers"}


def scoring_cost(cfg: DictConfig, cached: CachedStages, costs: RecordedCosts) -> Cost | None:
    """Return the cost of scoring the missing shards: as runs of this filter scored, or as the cached parts were."""
    settings = settings_text(recorded(filter_settings(cfg)))
    pairs = pool_pairs(cfg, cached.pool)

    def of_run(run: Result) -> Cost | None:
        same = run.pool == str(cfg.pool.name) and settings_text(run.selection.config) == settings
        if not same or not run.selection.scored:
            return None
        if run.scoring.reused == 0 and (stage := costs.stage(run, "select")) and _counts_workers(run):
            return stage.times(1 / run.selection.scored)
        return _on_workers(cfg, run.scoring.seconds / run.selection.scored, costs.device)

    per_pair = costs.median(of_run) or _per_pair_of_parts(cfg, cached.parts, costs.device)
    return None if per_pair is None or pairs is None else per_pair.times(pairs * cached.missing_share)


def pool_pairs(cfg: DictConfig, pool: Pool | None) -> int | None:
    """Return the number of pairs of a pool, None if it is not listed; of a demo that is not drawn, as set."""
    if pool is not None:
        return pool.count()
    drawn = OmegaConf.select(cfg, "pool.demo.pairs")
    return None if drawn is None else int(drawn)


def drawing_cost(cfg: DictConfig) -> Cost | None:
    """Return the cost of drawing the demo with its evaluation sets; None for a pool that is not drawn."""
    drawn = OmegaConf.select(cfg, "pool.demo.pairs")
    if drawn is None:
        return None
    cpu = DRAWING_SECONDS + DRAWING_SECONDS_PER_PAIR * int(drawn)
    return Cost(cpu, cpu / (os.cpu_count() or 1))


def training_cost(cfg: DictConfig, name: str, costs: RecordedCosts) -> Cost | None:
    """Return the cost of training one downstream model for its budget."""
    model = recorded(cfg.downstream[name])
    budget = int(model["training"]["samples_seen"])

    def of_run(run: Result) -> Cost | None:
        stage, trained = costs.stage(run, f"train/{name}"), run.downstream.get(name)
        if stage is None or trained is None or _recipe(run.config["downstream"][name]) != _recipe(model):
            return None
        report = trained.training
        if report.resumed_from is not None or stage.wall < 0.8 * report.seconds:
            return None  # a part of it, or all, was done by another run
        return stage.times(budget / report.samples_seen)

    return costs.median(of_run)


def evaluation_cost(cfg: DictConfig, name: str, costs: RecordedCosts) -> Cost | None:
    """Return the cost of evaluating one downstream model on all evaluation sets."""
    wanted = _evaluation(recorded(cfg)), _without_training(recorded(cfg.downstream[name]))

    def of_run(run: Result) -> Cost | None:
        if name not in run.downstream:
            return None
        settings = _evaluation(run.config), _without_training(run.config["downstream"][name])
        return costs.stage(run, f"evaluate/{name}") if settings == wanted else None

    return costs.median(of_run)


def overhead_cost(cfg: DictConfig, costs: RecordedCosts) -> Cost | None:
    """Return the cost of the short stages of a run on this pool."""

    def of_run(run: Result) -> Cost | None:
        stages = [stage for name in OVERHEAD if (stage := costs.stage(run, name))]
        if run.pool != str(cfg.pool.name) or not stages:
            return None
        return Cost(sum(stage.cpu for stage in stages), sum(stage.wall for stage in stages))

    return costs.median(of_run)


def _per_pair_of_parts(cfg: DictConfig, parts: Sequence[Path], device: str) -> Cost | None:
    """Return the cost per pair of parts of the same scores."""
    sampled = parts[:SAMPLED_PARTS]
    infos = [read_part_info(path) for path in sampled]
    pairs = sum(info.rows for info in infos)
    if not pairs:
        return None
    seconds = sum(total_cost(info.costs).clock for info in infos)
    return _on_workers(cfg, seconds / pairs, device)


def _counts_workers(run: Result) -> bool:
    """Return whether the run's processor seconds include those of workers; in older results they do not."""
    return run.stages["select"].worker_cpu_seconds is not None


def _on_workers(cfg: DictConfig, seconds: float, device: str) -> Cost:
    """Return the cost of seconds that the workers of this machine share."""
    workers = OmegaConf.select(cfg, "engine.workers") or (os.cpu_count() or 1 if device == "cpu" else 1)
    return Cost(seconds, seconds / int(workers))


def _recipe(model: Mapping[str, Any]) -> str:
    settings = recipe_key(model["training"], workers=0)
    training = {name: value for name, value in settings.items() if name not in FREE}
    return settings_text({**model, "training": training})


def _without_training(model: Mapping[str, Any]) -> str:
    return settings_text({**model, "training": None})


def _evaluation(config: Mapping[str, Any]) -> str:
    """Return what the cost of an evaluation depends on. Sets are told apart by name, as their folders are caches."""
    sets, drawn = config["evalset"], (config["pool"].get("demo") or {}).get("evaluation")
    named = [sorted(set(sets) - {LIMIT}), sets.get(LIMIT), drawn, sorted(config["metrics"])]
    return json.dumps(named, sort_keys=True)
