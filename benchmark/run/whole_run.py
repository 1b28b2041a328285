"""The whole chain for one filter and one size, ending in a result JSON."""

from __future__ import annotations

import logging
from collections.abc import Iterable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from functools import cache, partial
from pathlib import Path
from typing import TYPE_CHECKING

from omegaconf import DictConfig

from benchmark.core.devices import resolve_device
from benchmark.core.disk import writable_results
from benchmark.core.errors import UserError
from benchmark.core.launch import is_main_process, main_process_first
from benchmark.core.records import read_records, write_record
from benchmark.core.sharing import require_shared_cache, shared_by_main
from benchmark.core.usage import peak_rss_bytes
from benchmark.pool.other_captions import CaptionSources
from benchmark.pool.pool import Pool
from benchmark.pool.subset import Subset, index_tars
from benchmark.results.contamination import NearImages, contamination
from benchmark.results.protocol import Protocol
from benchmark.results.provenance import provenance
from benchmark.results.report.run_tables import run_table
from benchmark.results.report.terminal import print_tables
from benchmark.results.result import Contamination, DownstreamResult, Result, Scoring
from benchmark.results.stopwatch import Stopwatch
from benchmark.results.trackers import Tracker
from benchmark.run.choose import Chosen, choose
from benchmark.run.config import (
    choice,
    filter_family,
    make_engine,
    make_pool,
    make_tracker,
    recorded,
    resolved,
    run_facts,
)
from benchmark.run.downstream_config import load_evaluation_sets, make_metrics, make_models
from benchmark.run.earlier_result import earlier_result, is_sweep
from benchmark.run.evaluation import evaluate_trained
from benchmark.run.open_subset import kept_by_noise, note_lost, open_subset
from benchmark.run.output import Finished, failure_text, print_result
from benchmark.run.run_files import write_run_files
from benchmark.run.run_id import make_run_id
from benchmark.run.run_protocol import run_protocol
from benchmark.run.training import train
from downstream.evaluation.classification_sets import ClassificationSet
from downstream.evaluation.evaluation_sets import EvaluationSet
from downstream.metrics.base import CaptionMetric
from downstream.models.base import Downstream
from filters.clip import ClipFeatures

if TYPE_CHECKING:
    import torch

log = logging.getLogger(__name__)
# What other processes of a launch need: samples and the hash of the selection, or the path of an earlier result.
Shared = tuple[Subset, str] | Path


@dataclass(frozen=True)
class Parts:
    """What a run works with, besides its filter."""

    pool: Pool
    sets: Sequence[EvaluationSet | ClassificationSet]
    metrics: Sequence[CaptionMetric]
    models: Mapping[str, Downstream]
    device: torch.device


@dataclass(frozen=True)
class Selected:
    """The selected samples, and how they were selected; `kept` counts kinds of planted noise among them."""

    chosen: Chosen
    protocol: Protocol
    subset: Subset
    kept: dict[str, int]


def run_whole(cfg: DictConfig, told: frozenset[str]) -> Finished | None:
    """Score, select, train, evaluate; print the path of the result, the last line on stdout.

    A sweep does not do again what an earlier one did, see `earlier_result`; a single run does, and replaces it. Of a
    launch, the main process does it all; the others train with it on the samples that it selected.

    Args:
        cfg: the configuration; what it needs is there.
        told: reasons for missing metrics that were logged before.
    """
    device, tracker = resolve_device(cfg.device), make_tracker(cfg)
    watch = Stopwatch(device.type)
    require_shared_cache(device)
    with main_process_first(device):
        with watch.stage("pool"):
            pool = make_pool(cfg)
        parts = Parts(pool, load_evaluation_sets(cfg), make_metrics(cfg), make_models(cfg), device)
        for model in parts.models.values():
            model.identity()  # fetches the weights before anything is scored
    selected = _select(cfg, parts, watch) if is_main_process() else None
    sharing: AbstractContextManager[Shared] = shared_by_main(_to_share(selected), device)
    with sharing as shared:
        if isinstance(shared, Path):
            print_result(str(shared))
            return Finished(shared, skipped=True)
        if isinstance(selected, Selected):
            result = _train_and_evaluate(cfg, parts, selected, tracker, watch)
            return _finish(cfg, result, tracker, told)
        subset, sha256 = shared
        for model in parts.models.values():
            train(model, subset, sha256, device, tracker, parts.sets)
    return None


def _select(cfg: DictConfig, parts: Parts, watch: Stopwatch) -> Selected | Path:
    """Score and select, or return the path of an earlier result of the same run."""
    pool = parts.pool
    sources = CaptionSources(pool, **resolved(cfg.captions))
    make_protocol = partial(run_protocol, cfg, pool, parts.models, parts.sets, parts.metrics)
    select = cache(partial(choose, cfg, pool))
    with watch.stage("select"):
        if is_sweep() and (path := earlier_result(cfg, pool, sources, make_protocol, select)):
            return path
        chosen = select()
        protocol = make_protocol()
        log.info("protocol: %s (%s)", protocol.name, protocol.fingerprint)
    with watch.stage("subset"):
        index_tars(pool, make_engine(cfg))
        subset = open_subset(pool, chosen.selection, sources, cfg.selection.tolerate)
        chosen = note_lost(chosen, subset)
        return Selected(chosen, protocol, subset, kept_by_noise(pool, chosen.selection))


def _to_share(selected: Selected | Path | None) -> Shared | None:
    if isinstance(selected, Selected):
        return selected.subset, selected.chosen.selection.sha256
    return selected


def _train_and_evaluate(
    cfg: DictConfig, parts: Parts, selected: Selected, tracker: Tracker, watch: Stopwatch
) -> Result:
    chosen, subset, protocol = selected.chosen, selected.subset, selected.protocol
    run_id = make_run_id(cfg, subset.captions.sha256)
    outputs = Path(cfg.results_dir) / run_id
    with watch.stage("describe"):  # before the training, which an error here would else cost
        write_run_files(outputs, parts.pool, chosen, subset, parts.sets, parts.models.values())
        contaminated = _contamination(cfg, parts.pool, chosen, subset, parts.sets)
    tracker.start(run_facts(cfg, run_id, protocol))
    downstream: dict[str, DownstreamResult] = {}
    for name, model in parts.models.items():
        with watch.stage(f"train/{name}"):
            trained = train(model, subset, chosen.selection.sha256, parts.device, tracker, parts.sets)
        with watch.stage(f"evaluate/{name}"):
            folder = writable_results(Path(cfg.results_dir)) / run_id / name
            downstream[name] = evaluate_trained(trained, folder, parts.sets, parts.metrics, parts.device)
    return make_result(cfg, run_id, protocol, chosen, downstream, selected.kept, contaminated, watch)


def _contamination(
    cfg: DictConfig,
    pool: Pool,
    chosen: Chosen,
    subset: Subset,
    sets: Iterable[EvaluationSet | ClassificationSet],
) -> dict[str, Contamination]:
    """Count evaluation images in the pool; near-duplicates too if the CLIP model has a threshold for them."""
    near = None
    if cfg.models.clip_duplicate is not None:
        features = ClipFeatures(**resolved(cfg.models.clip))
        near = NearImages(features, float(cfg.models.clip_duplicate), resolve_device(cfg.device))
    return contamination(pool, chosen.selection.uids, subset.pool, sets, near)


def _finish(cfg: DictConfig, result: Result, tracker: Tracker, told: frozenset[str]) -> Finished:
    """Write the result, hand it to the tracker, and print it beside random selection.

    Raises `UserError`, which names the result's path, if the results folder no longer takes files.
    """
    folder = writable_results(Path(cfg.results_dir))
    path = write_record(folder, result)
    tracker.finish(result, folder / result.run_id)
    others = [] if result.protocol.is_quick_try else read_records(folder, Result)
    print_tables([run_table(result, others, told)], stderr=True)
    print_result(str(path))
    if folder != Path(cfg.results_dir):
        raise UserError(f"results_dir={cfg.results_dir} takes no files; the result is {path}")
    return Finished(path, failure=failure_text(result.failed_metrics, path))


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
        scoring=_scoring(chosen),
        downstream=downstream,
        stages=watch.stages,
        config=recorded(cfg),
        kept=kept,
        contamination=contaminated,
        peak_rss_bytes=peak_rss_bytes(),
        workers_peak_rss_bytes=watch.workers_peak_rss_bytes,
        **provenance(),
    )


def _scoring(chosen: Chosen) -> Scoring:
    cost = chosen.selection.cost
    return Scoring(round(cost.clock, 3), chosen.table.reused, round(cost.processor, 3))
