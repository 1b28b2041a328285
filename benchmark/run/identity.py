"""What a run is: its id, protocol and trainings, the facts of trackers, and earlier results."""

import json
import logging
from collections.abc import Callable, Iterable
from functools import cache
from pathlib import Path
from typing import Any

import hydra
from omegaconf import DictConfig

from benchmark.core.cached_files import intact
from benchmark.core.devices import device_type
from benchmark.core.hashes import hash_json, hash_text
from benchmark.core.images import DECODER
from benchmark.core.launch import process_count
from benchmark.core.paths import REFERENCE_RESULTS, cache_dir, cache_folder, portable_paths
from benchmark.core.records import scan_records
from benchmark.core.source_code import own_code
from benchmark.core.uids import read_subset, unite_uids
from benchmark.pool.content import PoolContent, pool_content
from benchmark.pool.subset import index_tars
from benchmark.results.protocol import (
    CONTAMINATION,
    LIMIT,
    QUICK_TRY,
    SIZE,
    Protocol,
    flat_facts,
    protocol_overrides,
    published_experiment,
    size_text,
)
from benchmark.results.provenance import machine
from benchmark.results.result import Result
from benchmark.results.trackers import RunFacts
from benchmark.run.config import CONF, filter_family, filter_settings, recorded, resolved
from benchmark.run.job import Job
from benchmark.run.select import READABLE, Selected, subset_path, written_subset
from downstream.metrics.metric import library
from downstream.models.base import Trainable
from downstream.training.trainer import recipe_key
from downstream.training.training_data import STREAM_GROUPS

log = logging.getLogger(__name__)
# The settings that make a run what it is; the rest (where it ran, where it logged) does not change its metrics.
IDENTITY = ("pool", "filter", "selector", "size", "downstream", "evalset", "metrics", "seed")


def make_run_id(job: Job, captions: str | None) -> str:
    """Return a readable name and a hash of all that the metrics depend on; `captions`: hash of other captions."""
    cfg = job.cfg
    identity: dict[str, Any] = {name: resolved(cfg[name]) for name in IDENTITY}
    if "url" in identity["pool"]:
        identity["pool"]["url"] = _content(job).sha256
    identity["filter"] = resolved(filter_settings(cfg))
    identity["evalset"] = evaluation_identity(cfg)
    for model in identity["downstream"].values():
        if "training" in model:
            model_class: type[Trainable] = hydra.utils.get_class(model["_target_"])
            model["training"] = recipe_key(model["training"], model_class.workers_in_keys)
    if captions is not None:
        identity["captions"] = captions
    identity["pool"].pop("exclude", None)
    if job.left_out:
        identity["left out"] = job.left_out
    names = [cfg.pool.name, job.choices["filter"]]
    if job.choices["selector"] != "best":
        names.append(job.choices["selector"])
    names.append(size_text(cfg.size.samples).replace("%", "pct"))  # for names of files and links
    return f"{'-'.join(names)}-seed{cfg.seed}-{portable_hash(identity)}"


def _content(job: Job) -> PoolContent:
    """Return the content of the pool; its tars are indexed by all workers."""
    index_tars(job.pool, job.engine)
    return pool_content(job.pool)


def evaluation_identity(cfg: DictConfig) -> dict[str, Any]:
    """Return the settings of the evaluation sets, without their sources; the limit only if it is set."""
    settings: dict[str, Any] = resolved(cfg.evalset)
    if settings.get(LIMIT) is None:
        settings.pop(LIMIT, None)
    for node in settings.values():
        if isinstance(node, dict):
            node.pop("source", None)
    return settings


def portable_hash(identity: dict[str, Any]) -> str:
    """Return a short hash of settings, the same for every folder of the checkout and of the cache."""
    text = json.dumps(identity, sort_keys=True)
    # The demo's models and evaluation sets are paths in them, and one may be in the other.
    for folder in sorted((str(CONF.parent), str(cache_dir())), key=len, reverse=True):
        text = text.replace(folder, "")
    return hash_text(text, 8)


def make_protocol(job: Job) -> Protocol:
    """Return the facts that comparable runs share. Raises `UserError` if starting weights cannot be had."""
    samples = job.cfg.size.samples
    facts = {
        "pool": str(_content(job)),
        SIZE: f"{job.k:,} pairs" if job.k else f"{samples} pairs that pass".replace("%", "% of the"),
    }
    facts |= {f"left out as {reason}": pairs for reason, pairs in job.left_out.items()}
    for name, model in job.models.items():
        facts |= flat_facts(name, model.identity())
    facts |= {f"evaluation.{s.name}": f"{len(s):,} images, {s.fingerprint()}" for s in job.evaluation_sets}
    facts |= {f"metric.{name}": metric.version() for metric in job.metrics for name in metric.names}
    parts = {**job.models, **{metric.names[0]: metric for metric in job.metrics}}
    facts |= {f"code.{name}": own for name, part in parts.items() if (own := own_code(type(part)))}
    facts |= dict.fromkeys(("metric.retrieval", "metric.classification"), library("pairsift"))
    facts["evaluation images in the pool"] = CONTAMINATION
    device = device_type(job.cfg.device)
    facts["precision"] = ", ".join(sorted({m.training.precision_on(device) for m in job.models.values()}))
    limit = job.cfg.evalset.get(LIMIT)
    if limit is not None:
        facts[QUICK_TRY] = f"the first {limit:,} images of each evaluation set, comparable to nothing"
    changed = protocol_overrides(job.overrides)
    published = published_experiment(job.choices["experiment"], samples, job.overrides)
    name = ", ".join([f"{published or job.pool.name} {size_text(samples)}", *changed])
    return Protocol(name if limit is None else f"{QUICK_TRY}: {name}", facts, published, changed)


def training_input(job: Job, subset_sha256: str) -> str:
    """Return a hash of the pairs that are trained on: of their uids, and of the pool's captions and images.

    Two pools may have the same uids, but other captions or images.
    """
    return hash_json([subset_sha256, _content(job).sha256])


def training_folder(model: Trainable, fingerprint: str) -> Path:
    """Return the folder of a training."""
    return cache_folder("trained", f"{model.name}-{fingerprint}")


def training_fingerprint(
    model: Trainable, subset_sha256: str, device: str, captions_sha256: str | None = None
) -> str:
    """Return a hash of all that a training depends on.

    Args:
        model: its identity has all settings, and weights by their revision.
        subset_sha256: hash of the selected pairs, see `training_input`.
        device: ``"cpu"`` or ``"cuda"``; they differ in rounding, and in their usual precision.
        captions_sha256: hash of the other captions; None without any.
    """
    captions = [captions_sha256] if captions_sha256 else []
    parts = [subset_sha256, model.identity(), device, *captions, DECODER]
    precision = model.training.precision_on(device)
    if own := own_code(type(model)):
        parts.append({"code": own})
    if model.training.source == "stream" and STREAM_GROUPS % process_count():
        parts.append({"processes": process_count()})  # the order depends on them
    if precision != ("bf16" if device == "cuda" else "fp32"):
        parts.append({"precision": precision})
    return hash_json(parts, 16)


def run_facts(job: Job, run_id: str, samples: int, protocol: Protocol | None = None) -> RunFacts:
    """Return the facts of a run that are known before it trains on so many samples per epoch.

    Names are names of the chosen configs; `size_name` is as written for the paper's pool.
    """
    columns: dict[str, str | int] = {
        "filter_name": job.choices["filter"],
        "filter_family": filter_family(job.cfg),
        "selector_name": job.choices["selector"],
        "pool_name": str(job.cfg.pool.name),
        "size_name": size_text(job.cfg.size.samples),
        "k": job.k or samples,
        "seed": job.seed,
    }
    if protocol:
        columns |= {"protocol_name": protocol.name, "protocol_fingerprint": protocol.fingerprint}
    return RunFacts(run_id, job.task, columns, recorded(job.cfg))


def earlier_result(job: Job, select: Callable[[], Selected]) -> Path | None:
    """Return the path of the result that this run would make again, None if there is none.

    Its settings, schema, protocol and selection are this run's; the commit may be another. The subset file's name
    changes with the filter's code and weights: if it has another name, or with `rescore`, `select` scores and selects
    again, and the same pairs give the same result.
    """
    subset, rescore = subset_path(job), bool(job.cfg.rescore)
    since = "scored again" if rescore else "whose code or weights have changed since"
    captions = None
    # The hash is of the selected pairs' captions, so that the selection must be in the cache.
    if job.captions:
        made = written_subset(subset)
        files = [made] if made.is_file() else sorted(made.parent.glob(f"{made.stem}-epoch*.npy"))
        if not files or not all(intact(file) for file in files):
            return None
        captions = job.captions.of(unite_uids([read_subset(file) for file in files])).sha256
    path = job.results_dir / f"{make_run_id(job, captions)}.json"
    if not path.is_file():
        return None
    results, left_out = scan_records(path.parent, Result)
    result = results.get(path)
    if result is None:
        reason = next((file.reason for file in left_out if file.path == path), "no result")
    elif result.failed_metrics:
        reason = result.failed_metrics[0]
    elif result.protocol.fingerprint != (protocol := make_protocol(job)).fingerprint:
        reason = protocol.differences(result.protocol)
    elif (
        not rescore and Path(result.subset).stem.partition("-epoch")[0].removesuffix(READABLE) == subset.stem
    ):
        log.info("%s is there (commit %s); delete it to make it again", path, result.git_commit)
        return path
    elif select().selection.sha256 == result.selection.sha256:
        log.info("%s is there: its filter, %s, selects the same pairs", path, since)
        return path
    else:
        reason = f"its filter, {since}, selects other pairs"
    log.info("%s is made again: %s", path, reason)
    return None


def earlier_seconds(job: Job, stage: str, wanted: str) -> float | None:
    """Return the seconds of a stage in the newest result with these `stage_settings`; None without one.

    Results in `results_dir` of this machine count first, then the reference results; none of another type of device.
    Stages: ``select`` (scores of the whole pool), ``train/MODEL`` (in proportion to its budget), ``evaluate/MODEL``.
    """
    device, (kind, _, name) = device_type(job.cfg.device), stage.partition("/")
    for folder in (job.results_dir, REFERENCE_RESULTS):
        for result in _newest_first(folder, folder.stat().st_mtime_ns if folder.is_dir() else 0):
            timed, here = result.stages.get(stage), folder == REFERENCE_RESULTS or result.machine == machine()
            if not here or timed is None or timed.device != device:
                continue
            if _stage_settings(stage, result.config, result.selection.config) != wanted:
                continue
            if kind == "train":
                report = result.downstream[name].training
                return report.seconds * job.models[name].training.samples_seen / report.samples_seen
            if kind == "select":
                return result.scoring_seconds(job.cfg.engine.get("workers"))
            return timed.wall_seconds
    return None


@cache
def _newest_first(folder: Path, changed_ns: int) -> list[Result]:
    results = scan_records(folder, Result)[0].values()
    return sorted(results, key=lambda result: result.finished, reverse=True)


def stage_settings(job: Job, stages: Iterable[str]) -> dict[str, str]:
    """Return the settings of a job that the seconds of each stage depend on, as text."""
    config, of_filter = recorded(job.cfg), recorded(filter_settings(job.cfg))
    return {stage: _stage_settings(stage, config, of_filter) for stage in stages}


def _stage_settings(stage: str, config: dict[str, Any], of_filter: dict[str, Any]) -> str:
    """Return the settings that the seconds of a stage depend on, as text; evaluation sets count by their names."""
    kind, _, name = stage.partition("/")
    if kind == "select":
        settings = [{**of_filter, "seed": None, "content": None}, config["pool"]]
    else:
        model, sets = config["downstream"][name], config["evalset"]
        training = recipe_key(model.get("training", {}), workers=0) | {"samples_seen": None, "seed": None}
        settings = [{**model, "training": training}]
        if kind == "evaluate":
            names, demo = sorted(sets.keys() - {LIMIT}), config["pool"].get("demo")
            settings += [names, sets.get(LIMIT), demo, sorted(config["metrics"])]
    return portable_paths(json.dumps(settings, sort_keys=True))  # paths in results are portable already
