"""What a run is: its id, its protocol, and the facts that trackers group it by."""

import json
from typing import TYPE_CHECKING, Any

import hydra
from omegaconf import DictConfig

from benchmark.core.devices import device_type
from benchmark.core.hashes import hash_text
from benchmark.core.paths import cache_dir
from benchmark.pool.content import pool_content
from benchmark.results.protocol import (
    CONTAMINATION,
    LIMIT,
    QUICK_TRY,
    SIZE,
    Protocol,
    flat_facts,
    protocol_overrides,
    published_experiment,
)
from benchmark.results.report.columns import thousands
from benchmark.results.trackers import RunFacts
from benchmark.run.config import CONF, filter_family, filter_settings, recorded, resolved, size_name
from benchmark.run.job import Job
from downstream.metrics.metric import library
from downstream.training.trainer import recipe_key

if TYPE_CHECKING:
    from downstream.models.base import Trainable

# The settings that make a run what it is; the rest (where it ran, where it logged) does not change its metrics.
IDENTITY = ("pool", "filter", "selector", "size", "downstream", "evalset", "metrics", "models", "seed")


def make_run_id(job: Job, captions: str | None) -> str:
    """Return a readable name and a hash of all that the metrics depend on.

    Args:
        job: the run.
        captions: hash of the other captions, None if there are none.
    """
    cfg = job.cfg
    identity: dict[str, Any] = {name: resolved(cfg[name]) for name in IDENTITY}
    identity["filter"] = resolved(filter_settings(cfg))
    identity["evalset"] = evaluation_identity(cfg)
    for model in identity["downstream"].values():
        if "training" in model:
            model_class: type[Trainable] = hydra.utils.get_class(model["_target_"])
            model["training"] = recipe_key(model["training"], model_class.workers_in_keys)
    if captions is not None:
        identity["captions"] = captions
    names = [cfg.pool.name, job.choices["filter"]]
    if job.choices["selector"] != "best":
        names.append(job.choices["selector"])
    return f"{'-'.join(names)}-{size_name(cfg)}-seed{cfg.seed}-{portable_hash(identity)}"


def evaluation_identity(cfg: DictConfig) -> dict[str, Any]:
    """Return the settings of the evaluation sets; the limit only if there is one."""
    settings: dict[str, Any] = resolved(cfg.evalset)
    if settings.get(LIMIT) is None:
        settings.pop(LIMIT, None)
    return settings


def portable_hash(identity: dict[str, Any]) -> str:
    """Return a short hash of settings, the same for every folder of the checkout and of the cache."""
    text = json.dumps(identity, sort_keys=True)
    # The demo's models and evaluation sets are paths in them, and one may be in the other.
    for folder in sorted((str(CONF.parent), str(cache_dir())), key=len, reverse=True):
        text = text.replace(folder, "")
    return hash_text(text, 8)


def make_protocol(job: Job) -> Protocol:
    """Return the facts that runs must share to be compared with this one.

    Raises `UserError` if the starting weights of a model cannot be had.
    """
    facts = {"pool": str(pool_content(job.pool)), SIZE: f"{job.k:,} pairs"}
    for name, model in job.models.items():
        facts |= flat_facts(name, model.identity())
    facts |= {f"evaluation.{s.name}": f"{len(s):,} images, {s.fingerprint()}" for s in job.evaluation_sets}
    facts |= {f"metric.{name}": metric.version() for metric in job.metrics for name in metric.names}
    facts |= dict.fromkeys(("metric.retrieval", "metric.classification"), library("pairsift"))
    facts["evaluation images in the pool"] = CONTAMINATION
    device = device_type(job.cfg.device)
    facts["precision"] = ", ".join(sorted({m.training.precision_on(device) for m in job.models.values()}))
    limit = job.evaluation_limit
    if limit is not None:
        facts[QUICK_TRY] = f"the first {limit:,} images of each evaluation set, comparable to nothing"
    samples, changed = int(job.cfg.size.samples), protocol_overrides(job.overrides)
    published = published_experiment(job.choices["experiment"], samples, job.overrides)
    name = ", ".join([f"{published or job.pool.name} {thousands(samples)}", *changed])
    return Protocol(name if limit is None else f"{QUICK_TRY}: {name}", facts, published, changed)


def run_facts(job: Job, run_id: str, protocol: Protocol | None = None) -> RunFacts:
    """Return the facts of a run that are known before it trains."""
    return RunFacts(
        run_id=run_id,
        task=job.task,
        filter_name=job.choices["filter"],
        filter_family=filter_family(job.cfg),
        selector_name=job.choices["selector"],
        pool_name=str(job.cfg.pool.name),
        size_name=size_name(job.cfg),
        k=job.k,
        seed=job.seed,
        config=recorded(job.cfg),
        protocol=protocol,
    )
