"""``task=weak_backbone``: train a vision backbone on the topics of captions (Ghosal et al. 2019, section 4.4)."""

import logging
from dataclasses import replace

import hydra

from benchmark.core.distributed import broadcast_from_main
from benchmark.core.errors import UserError
from benchmark.core.launch import is_main_process
from benchmark.core.uids import find_uids
from benchmark.pool.subset import Subset
from benchmark.run.identity import make_run_id, run_facts, training_input
from benchmark.run.job import Job
from benchmark.run.open_samples import open_readable
from benchmark.run.output import print_result
from benchmark.run.score import score_pairs
from benchmark.run.select import select_pairs
from benchmark.run.train import find_pool, reach_tars, train_model
from benchmark.selection.selection import Selection
from pairsift.studies.ava.labels import label_pool, read_labels
from pairsift.studies.ava.topic_backbone import TopicLabels, check_architecture
from pairsift.studies.ava.weak_labels import label_config

log = logging.getLogger(__name__)


def weak_backbone(job: Job) -> None:
    """Label the pool, select, train on the labelled images; print the folder for ``models.captioner.encoder``."""
    check_architecture(str(job.cfg.weak_backbone.architecture))
    job.leave_out_evaluation_sets()
    config = label_config(job)
    find_pool(job)
    opened = None
    if is_main_process():
        folder = label_pool(job.pool, config, job.engine)
        subset, selected = open_readable(job, select_pairs(job, score_pairs(job)))
        labels = read_labels(folder, selected.selection.uids)
        selection = labelled(selected.selection, labels)
        subset = Subset(subset.pool, selection.uids, selection.epochs, metadata=job.pool)
        opened = subset, training_input(job, selection.sha256), labels
    subset, sha256, labels = broadcast_from_main(opened, job.device)
    reach_tars(subset, job.device)
    model = hydra.utils.instantiate(job.cfg.weak_backbone, _convert_="all", _partial_=True)(labels=labels)
    job.tracker.start(run_facts(job, f"weak_backbone-{make_run_id(job, None)}", len(subset.epochs[0])))
    trained = train_model(model, subset, sha256, job.device, job.tracker, [])
    report, (lowest, constant) = trained.training, labels.references()
    loss = "unknown" if report.final_loss is None else f"{report.final_loss:.3f}"
    after = f"{report.samples_seen:,} samples, {report.samples_per_second:.0f}/s"
    bounds = f"best constant {constant:.3f}, optimum {lowest:.3f}"
    log.info("weak backbone: loss %s of the last batch after %s (%s)", loss, after, bounds)
    print_result(trained.checkpoint)


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
