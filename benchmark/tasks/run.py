"""``task=run``: the whole chain for one filter and one size, ending in a result JSON."""

import hashlib
import json
import logging
from dataclasses import asdict
from pathlib import Path
from typing import Any

from omegaconf import DictConfig

from benchmark.config import (
    CONF,
    choice,
    filter_settings,
    load_evaluation_sets,
    make_pool,
    make_tracker,
    recorded,
    resolved,
)
from benchmark.core.devices import resolve_device
from benchmark.core.launch import is_main_process, main_process_first
from benchmark.core.paths import cache_dir
from benchmark.pipeline import choose, downstream_result, evaluate_all, kept_by_noise, open_subset, train
from benchmark.results import result as results
from benchmark.subset.other_captions import CaptionSources
from benchmark.tasks.output import print_result
from benchmark.tasks.report import summary

log = logging.getLogger(__name__)
# What a run is compared by; the rest (where it ran, where it logged) does not change its metrics.
IDENTITY = ("pool", "filter", "selector", "size", "downstream", "evalset", "metrics", "models", "seed")


def run(cfg: DictConfig) -> None:
    """Score, select, train, evaluate; print the path of the result, the last line on stdout."""
    device = resolve_device(cfg.device)
    watch = results.Stopwatch(device.type)
    with main_process_first(device):
        with watch.stage("pool"):
            pool = make_pool(cfg)
            sources = CaptionSources(pool, **resolved(cfg.captions))
        sets = load_evaluation_sets(cfg)
        with watch.stage("select"):
            chosen = choose(cfg, pool)
        with watch.stage("subset"):
            subset = open_subset(pool, chosen.selection, sources)
            kept = kept_by_noise(pool, chosen.selection)
    run_id = make_run_id(cfg, subset.captions.sha256)
    tracker = make_tracker(cfg, run_id)
    downstream: dict[str, results.DownstreamResult] = {}
    for name in cfg.downstream:
        with watch.stage(f"train/{name}"):
            trained = train(cfg, name, subset, chosen.selection.sha256, tracker)
        if is_main_process():
            with watch.stage(f"evaluate/{name}"):
                downstream[name] = downstream_result(trained, evaluate_all(cfg, trained, sets))
    if not is_main_process():
        return
    result = results.Result(
        run_id=run_id,
        filter=choice(cfg, "filter"),
        size=int(cfg.size.samples),
        k=chosen.manifest.k,
        pool=pool.name,
        seed=int(cfg.seed),
        selection=asdict(chosen.manifest) | {"path": str(chosen.paths[0])},
        downstream=downstream,
        stages=watch.stages,
        config=recorded(cfg),
        kept=kept,
        scoring={"seconds": round(chosen.selection.seconds, 3), "reused": chosen.table.reused},
        peak_rss_bytes=results.peak_rss_bytes(),
        **results.provenance(),
    )
    path = results.write_result(Path(cfg.results_dir), result)
    tracker.finish(asdict(result))
    summary(result)
    print_result(str(path))


def make_run_id(cfg: DictConfig, captions: str | None) -> str:
    """Return a readable name and a hash of what the metrics depend on; `captions` is a hash of the other captions."""
    identity: dict[str, Any] = {name: resolved(cfg[name]) for name in IDENTITY}
    identity["filter"] = resolved(filter_settings(cfg))
    if captions is not None:
        identity["captions"] = captions
    # Where checkout and cache lie does not matter: the demo's models and evaluation sets are named by places in them.
    text = json.dumps(identity, sort_keys=True).replace(str(CONF.parent), "").replace(str(cache_dir()), "")
    digest = hashlib.sha256(text.encode()).hexdigest()[:8]
    size = f"{int(cfg.size.samples) // 1000}k" if cfg.size.samples % 1000 == 0 else str(cfg.size.samples)
    names = [cfg.pool.name, choice(cfg, "filter")]
    if choice(cfg, "selector") != "best":
        names.append(choice(cfg, "selector"))
    return f"{'-'.join(names)}-{size}-seed{cfg.seed}-{digest}"
