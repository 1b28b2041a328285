"""``task=weak_backbone``: train a vision backbone on the topics of captions (Ghosal et al. 2019, section 4.4)."""

import logging
from dataclasses import replace

import hydra

from benchmark.core.distributed import broadcast_from_main, one_launch, require_shared_cache
from benchmark.core.errors import UserError
from benchmark.core.launch import is_main_process
from benchmark.core.uids import find_uids
from benchmark.pool.subset import Subset
from benchmark.run.identity import make_run_id, run_facts, training_fingerprint, training_folder
from benchmark.run.job import Job
from benchmark.run.open_samples import open_subset
from benchmark.run.output import print_result
from benchmark.run.score import score_pairs
from benchmark.run.select import select_pairs
from benchmark.run.weak_labels import label_config
from benchmark.selection.selection import Selection
from benchmark.studies.weak_labels.labels import LabelConfig, label_pool, read_labels
from downstream.models.weak_backbone import TopicLabels, check_architecture

log = logging.getLogger(__name__)


def weak_backbone(job: Job) -> None:
    """Label the pool, select, train on the labelled images; print the folder for ``models.captioner.encoder``."""
    check_architecture(str(job.cfg.weak_backbone.architecture))
    job.leave_out_evaluation_sets()
    config = label_config(job)
    require_shared_cache(job.device)
    opened = _open_labelled(job, config) if is_main_process() else None
    subset, sha256, labels = broadcast_from_main(opened, job.device)
    _train_backbone(job, subset, sha256, labels)


def _open_labelled(job: Job, config: LabelConfig) -> tuple[Subset, str, TopicLabels]:
    """Return the selected samples that have a label, the hash of their uids, and the labels."""
    folder = label_pool(job.pool, config, job.engine)
    selected = select_pairs(job, score_pairs(job)).selection
    labels = read_labels(folder, selected.uids)
    selection = labelled(selected, labels)
    subset = open_subset(job.pool, selection, tolerate=job.cfg.selection.tolerate)
    return subset, selection.sha256, labels


def _train_backbone(job: Job, subset: Subset, sha256: str, labels: TopicLabels) -> None:
    model = hydra.utils.instantiate(job.cfg.weak_backbone, _convert_="all", _partial_=True)(labels=labels)
    fingerprint = training_fingerprint(model, sha256, job.device.type)
    run_dir = training_folder(model, fingerprint)
    job.tracker.start(run_facts(job, f"weak_backbone-{make_run_id(job, None)}", len(subset.epochs[0])))
    with one_launch(run_dir, job.device):
        report = model.train(subset, run_dir, job.device, job.tracker, fingerprint)
    lowest, constant = labels.references()
    loss = "unknown" if report.final_loss is None else f"{report.final_loss:.3f}"
    after = f"{report.samples_seen:,} samples, {report.samples_per_second:.0f}/s"
    bounds = f"best constant {constant:.3f}, optimum {lowest:.3f}"
    log.info("weak backbone: loss %s of the last batch after %s (%s)", loss, after, bounds)
    print_result(str(run_dir / "model"))


def labelled(selection: Selection, labels: TopicLabels) -> Selection:
    """Return the selected samples that have a label. Raises `UserError` if none has."""
    epochs = tuple(uids[find_uids(labels.uids, uids) >= 0] for uids in selection.epochs)
    kept = replace(selection, epochs=epochs)
    unlabelled = len(selection.uids) - len(kept.uids)
    if not len(kept.uids):
        raise UserError(
            f"none of the {unlabelled:,} selected captions has a label; choose another filter or a larger size"
        )
    if unlabelled:
        of = f"{unlabelled:,} of {len(selection.uids):,}"
        log.info("weak backbone: %s selected captions have no label", of)
    return kept
