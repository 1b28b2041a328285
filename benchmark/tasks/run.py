"""``task=run``: the whole chain for one filter and one size, ending in a result JSON."""

import hashlib
import json
import logging
from pathlib import Path
from typing import Any

import torch
from omegaconf import DictConfig

from benchmark.config import (
    CONF,
    choice,
    filter_family,
    filter_settings,
    load_evaluation_sets,
    make_metrics,
    make_models,
    make_pool,
    make_tracker,
    recorded,
    resolved,
)
from benchmark.core.devices import resolve_device
from benchmark.core.launch import is_main_process, main_process_first
from benchmark.core.paths import cache_dir
from benchmark.core.records import read_records, write_record
from benchmark.pipeline import (
    Chosen,
    choose,
    downstream_result,
    evaluate_all,
    kept_by_noise,
    open_subset,
    train,
)
from benchmark.report.run_table import run_table
from benchmark.report.terminal import print_tables
from benchmark.results.contamination import Contamination, contamination
from benchmark.results.near_images import NearImages
from benchmark.results.protocol import Protocol
from benchmark.results.provenance import provenance
from benchmark.results.result import DownstreamResult, Result, Scoring
from benchmark.results.stopwatch import Stopwatch, peak_rss_bytes
from benchmark.subset.other_captions import CaptionSources
from benchmark.tasks.output import print_result
from benchmark.tasks.run_files import write_run_files
from benchmark.tasks.run_protocol import run_protocol
from filters.clip import ClipFeatures

log = logging.getLogger(__name__)
# The settings that make a run what it is; the rest (where it ran, where it logged) does not change its metrics.
IDENTITY = ("pool", "filter", "selector", "size", "downstream", "evalset", "metrics", "models", "seed")


def run(cfg: DictConfig) -> None:
    """Score, select, train, evaluate; print the path of the result, the last line on stdout."""
    device = resolve_device(cfg.device)
    watch = Stopwatch(device.type)
    with main_process_first(device):
        with watch.stage("pool"):
            pool = make_pool(cfg)
            sources = CaptionSources(pool, **resolved(cfg.captions))
        sets, metrics, models = load_evaluation_sets(cfg), make_metrics(cfg), make_models(cfg)
        for model in models.values():
            model.identity()  # raises for missing weights, before anything is scored
        with watch.stage("select"):
            chosen = choose(cfg, pool)
            protocol = run_protocol(cfg, pool, models, sets, metrics)
            log.info("protocol: %s (%s)", protocol.name, protocol.fingerprint)
        with watch.stage("subset"):
            subset = open_subset(pool, chosen.selection, sources)
            kept = kept_by_noise(pool, chosen.selection)
    run_id = make_run_id(cfg, subset.captions.sha256)
    contaminated: dict[str, Contamination] = {}
    if is_main_process():  # before the training, which an error here would else cost
        with watch.stage("describe"):
            write_run_files(Path(cfg.results_dir) / run_id, pool, chosen, subset, sets, models.values())
            near = _near_images(cfg, device)
            contaminated = contamination(pool, chosen.selection.uids, subset.pool, sets, near)
    tracker = make_tracker(cfg, run_id)
    downstream: dict[str, DownstreamResult] = {}
    for name, model in models.items():
        with watch.stage(f"train/{name}"):
            trained = train(model, subset, chosen.selection.sha256, device, tracker)
        if is_main_process():
            with watch.stage(f"evaluate/{name}"):
                folder = Path(cfg.results_dir) / run_id / name
                evaluations = evaluate_all(trained.model, folder, sets, metrics, device)
                downstream[name] = downstream_result(trained, evaluations, folder)
    if is_main_process():
        result = make_result(cfg, run_id, protocol, chosen, downstream, kept, contaminated, watch)
        path = write_record(Path(cfg.results_dir), result)
        tracker.finish(result)
        earlier = read_records(Path(cfg.results_dir), Result)
        print_tables([run_table(result, earlier)], stderr=True)
        print_result(str(path))


def _near_images(cfg: DictConfig, device: torch.device) -> NearImages | None:
    """Return what finds near-duplicates of evaluation images; None where the CLIP model has no threshold for them."""
    if cfg.models.clip_duplicate is None:
        return None
    return NearImages(ClipFeatures(**resolved(cfg.models.clip)), float(cfg.models.clip_duplicate), device)


def make_result(
    cfg: DictConfig,
    run_id: str,
    protocol: Protocol,
    chosen: Chosen,
    downstream: dict[str, DownstreamResult],
    kept: dict[str, int],
    contaminated: dict[str, Contamination],
    watch: Stopwatch,
) -> Result:
    """Return the result of a run; its fields are those of `Result`."""
    return Result(
        run_id=run_id,
        protocol=protocol,
        filter=choice(cfg, "filter"),
        family=filter_family(cfg),
        size=int(cfg.size.samples),
        k=chosen.manifest.k,
        pool=chosen.manifest.pool,
        seed=int(cfg.seed),
        selection=chosen.manifest,
        subset=str(chosen.paths[0]),
        scoring=Scoring(round(chosen.selection.seconds, 3), chosen.table.reused),
        downstream=downstream,
        stages=watch.stages,
        config=recorded(cfg),
        kept=kept,
        contamination=contaminated,
        peak_rss_bytes=peak_rss_bytes(),
        **provenance(),
    )


def make_run_id(cfg: DictConfig, captions: str | None) -> str:
    """Return a readable name and a hash of all that the metrics depend on.

    Args:
        cfg: the configuration.
        captions: hash of the other captions, None if there are none.
    """
    identity: dict[str, Any] = {name: resolved(cfg[name]) for name in IDENTITY}
    identity["filter"] = resolved(filter_settings(cfg))
    if captions is not None:
        identity["captions"] = captions
    digest = portable_hash(identity)
    size = f"{int(cfg.size.samples) // 1000}k" if cfg.size.samples % 1000 == 0 else str(cfg.size.samples)
    names = [cfg.pool.name, choice(cfg, "filter")]
    if choice(cfg, "selector") != "best":
        names.append(choice(cfg, "selector"))
    return f"{'-'.join(names)}-{size}-seed{cfg.seed}-{digest}"


def portable_hash(identity: dict[str, Any]) -> str:
    """Return a short hash of settings, the same wherever the checkout and the cache lie."""
    # The demo's models and evaluation sets are paths in them.
    text = json.dumps(identity, sort_keys=True).replace(str(CONF.parent), "").replace(str(cache_dir()), "")
    return hashlib.sha256(text.encode()).hexdigest()[:8]
