"""``task=run``: the whole chain for one filter and one size, ending in a result JSON."""

import logging
from collections.abc import Callable, Mapping
from functools import cache
from pathlib import Path

from benchmark.core.disk import writable_results
from benchmark.core.distributed import broadcast_from_main
from benchmark.core.errors import UserError
from benchmark.core.launch import is_main_process
from benchmark.core.paths import REFERENCE_RESULTS
from benchmark.core.records import write_record
from benchmark.core.usage import peak_rss_bytes
from benchmark.results.contamination import NearImages, contamination
from benchmark.results.gallery import examples, gallery
from benchmark.results.protocol import Protocol
from benchmark.results.provenance import provenance
from benchmark.results.report.certainty import RunFolders
from benchmark.results.report.leaderboard import of_protocol
from benchmark.results.report.run_tables import random_runs, run_table
from benchmark.results.report.terminal import print_tables
from benchmark.results.report.verdicts import board_verdict
from benchmark.results.result import Contamination, DownstreamResult, Result, Scoring
from benchmark.results.results_folders import read_runs
from benchmark.results.run_folder import Example, GalleryPair, write_rows, write_selection_summary
from benchmark.results.selection_statistics import summarise
from benchmark.results.stopwatch import Stopwatch
from benchmark.results.trackers import NoTracker
from benchmark.run.advise import given_up
from benchmark.run.config import filter_family, recorded, resolved
from benchmark.run.evaluate import evaluate_trained
from benchmark.run.identity import earlier_result, make_protocol, make_run_id, run_facts, training_input
from benchmark.run.job import Job
from benchmark.run.open_samples import AnySubset, kept_by_noise, open_samples
from benchmark.run.output import Finished, failure_text, print_result
from benchmark.run.score import score_pairs
from benchmark.run.select import Selected, select_pairs
from benchmark.run.train import find_pool, reach_tars, train_for
from downstream.evaluation.captioning import captioning_sets
from downstream.evaluation.protocols import Captions
from filters.clip import ClipFeatures

log = logging.getLogger(__name__)
DEMO_NOTES = (
    "The demo is a synthetic world with toy models: it compares filters there, not on the web. Your own pool:",
    "  python -m benchmark pool=img2dataset pool.url=FOLDER filter=icc size=200k  # docs/own_pool.md",
)


def run(job: Job) -> Finished | None:
    """Score, select, train, evaluate; print the path of the result, the last line on stdout.

    A sweep skips what an earlier one did, see `earlier_result`; a single run replaces it. With ``task.stop`` a filter
    that did poorly at a smaller budget is left out, see `given_up`. In a launch, the main process does it all; the
    others train with it on the samples that it selected.
    """
    watch = Stopwatch(job.device.type)
    with watch.stage("pool"):
        find_pool(job)
    for model in job.models.values():
        model.tried()  # fetches the starting weights
    if not is_main_process():
        return _train_with_main(job)
    _ = job.evaluation_sets
    with watch.stage("select"):
        select = cache(lambda: select_pairs(job, score_pairs(job)))
        if needless := _needless(job, select):
            broadcast_from_main(needless, job.device)
            return needless
        selected, protocol = select(), make_protocol(job)
        log.info("protocol: %s (%s)", protocol.name, protocol.fingerprint)
    with watch.stage("subset"):
        subset, selected = open_samples(job, selected)
        kept = kept_by_noise(job.pool, selected.selection)
    sha256 = training_input(job, selected.selection.sha256)
    run_id = make_run_id(job, subset.captions.sha256)
    broadcast_from_main((subset, sha256), job.device)
    reach_tars(subset, job.device)
    with watch.stage("describe"):  # before the training, which an error here would else cost
        describe(job, job.results_dir / run_id, selected, subset)
        contaminated = _contamination(job, selected, subset)
    job.tracker.start(run_facts(job, run_id, len(subset.epochs[0]), protocol))
    downstream: dict[str, DownstreamResult] = {}
    for name in job.models:
        with watch.stage(f"train/{name}"):
            trained = train_for(job, name, subset, sha256)
        with watch.stage(f"evaluate/{name}"):
            folder = writable_results(job.results_dir) / run_id / name
            downstream[name] = evaluate_trained(job, job.models[name], trained, folder)
    return write_result(job, run_id, protocol, selected, downstream, kept, contaminated, watch)


def _needless(job: Job, select: Callable[[], Selected]) -> Finished | None:
    """Return the result that a sweep would make again, or why ``task.stop`` leaves the run out; else None."""
    if job.sweep and (earlier := earlier_result(job, lambda: open_samples(job, select())[1])):
        print_result(str(earlier))
        return Finished(earlier, skipped=True)
    if job.cfg.task.stop and (reason := given_up(job)):
        log.info("left out: %s", reason)
        return Finished(None, left_out=reason)
    return None


def _train_with_main(job: Job) -> Finished | None:
    """Train on the samples that the main process selected; there are none if it found the run needless."""
    shared: tuple[AnySubset, str] | Finished = broadcast_from_main(None, job.device)
    if isinstance(shared, Finished):
        return shared
    subset, sha256 = shared
    reach_tars(subset, job.device)
    for name in job.models:
        train_for(job, name, subset, sha256)
    return None


def describe(job: Job, folder: Path, selected: Selected, subset: AnySubset) -> None:
    """Write ``selection.json``, ``gallery.parquet`` and, if a captioner is trained, ``examples.parquet``.

    A pool without local tars is not read again: its summary has no captions, and its gallery only pairs of the
    `subset`; there is none if that is a stream.
    """
    pool, scores = job.pool, selected.table
    kept = scores.of_uids(selected.selection.uids)
    if not pool.is_local:
        log.info("describe: pool %s has no local tars; dropped pairs lack captions and images", pool.name)
    write_selection_summary(folder, summarise(scores, kept, pool if pool.is_local else None))
    if subset.pool:
        write_rows(folder, GalleryPair, gallery(scores, kept, job.seed, subset.pool, job.bounds))
    if any(isinstance(model, Captions) for model in job.models.values()):
        write_rows(folder, Example, examples(captioning_sets(job.evaluation_sets)))


def _contamination(job: Job, selected: Selected, subset: AnySubset) -> dict[str, Contamination]:
    """Count evaluation images in the pool; near-duplicates too if the CLIP model has a threshold for them."""
    if subset.pool is None:
        log.info("contamination: not counted, as the images of pool %s are read as a stream", job.pool.name)
        return {}
    near, models = None, job.cfg.models
    if models.clip_duplicate is not None:
        near = NearImages(ClipFeatures(**resolved(models.clip)), float(models.clip_duplicate), job.device)
    return contamination(job.pool, selected.selection.uids, subset.pool, job.evaluation_sets, near)


def write_result(
    job: Job,
    run_id: str,
    protocol: Protocol,
    selected: Selected,
    downstream: dict[str, DownstreamResult],
    kept: dict[str, int],
    contaminated: Mapping[str, Contamination],
    watch: Stopwatch,
) -> Finished:
    """Write the result, hand it to the tracker, and print it in a table with random selection.

    Raises `UserError`, which names the result's path, if the results folder no longer takes files.
    """
    cost = selected.selection.cost
    result = Result(
        run_id=run_id,
        protocol=protocol,
        filter=job.choices["filter"],
        family=filter_family(job.cfg),
        size=selected.manifest.k * job.pool.scale if job.k is None else int(job.cfg.size.samples),
        k=selected.manifest.k,
        pool=selected.manifest.pool,
        seed=job.seed,
        selection=selected.manifest,
        subset=str(selected.paths[0]),
        scoring=Scoring(round(cost.clock, 3), selected.table.reused, round(cost.processor, 3)),
        downstream=downstream,
        stages=watch.stages,
        config=recorded(job.cfg),
        overrides=recorded([o.removesuffix("=null") if o.startswith("~") else o for o in job.overrides]),
        kept=kept,
        contamination=dict(contaminated),
        peak_rss_bytes=peak_rss_bytes(),
        workers_peak_rss_bytes=watch.workers_peak_rss_bytes,
        **provenance(),
    )
    folder = writable_results(job.results_dir)
    path = write_record(folder, result)
    others, committed = read_runs(folder), read_runs(REFERENCE_RESULTS)
    _, random = random_runs(result, others, committed)
    places = {r.run_id: REFERENCE_RESULTS / r.run_id for r in committed}
    places |= {r.run_id: folder / r.run_id for r in others}
    same = of_protocol(others, protocol)
    # A verdict reads the scores of single images of all these runs.
    wanted = not (job.sweep and isinstance(job.tracker, NoTracker))
    verdict = board_verdict(same, RunFolders(places), committed, others).lines if wanted else []
    job.tracker.finish(result, folder / result.run_id, random, verdict)
    table = run_table(result, others, committed, frozenset(r.detail for r in job.absent))
    table.notes.extend([] if job.sweep else verdict)  # a sweep ends with it
    if job.choices["pool"] == "demo" and not job.sweep:
        table.notes.extend(DEMO_NOTES)
    print_tables([table], stderr=True)
    print_result(str(path))
    if folder != job.results_dir:
        raise UserError(f"results_dir={job.results_dir} takes no files; the result is {path}")
    return Finished(path, failure=failure_text(result.failed_metrics, path))
