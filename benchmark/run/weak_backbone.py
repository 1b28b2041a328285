"""``task=weak_backbone``: train a vision backbone on the topics of captions (Ghosal et al. 2019, section 4.4)."""

import logging
from dataclasses import replace

import hydra
import torch
from omegaconf import DictConfig

from benchmark.core.devices import resolve_device
from benchmark.core.errors import UserError
from benchmark.core.launch import is_main_process, one_launch
from benchmark.core.paths import cache_folder
from benchmark.core.sharing import require_shared_cache, shared_by_main
from benchmark.core.uids import find_uids
from benchmark.pool.subset import Subset
from benchmark.results.trackers import Tracker
from benchmark.run.choose import choose
from benchmark.run.config import make_engine, make_pool, make_tracker, run_facts
from benchmark.run.open_subset import open_subset
from benchmark.run.output import print_result
from benchmark.run.run_id import make_run_id, without_evaluation_sets
from benchmark.run.training import training_fingerprint
from benchmark.run.weak_labels import label_config
from benchmark.selection.selection import Selection
from benchmark.studies.weak_labels.labels import LabelConfig, label_pool, read_labels
from downstream.models.weak_backbone import TopicLabels, check_architecture

log = logging.getLogger(__name__)


def weak_backbone(cfg: DictConfig) -> None:
    """Label the pool, select, train on the labelled images; print the folder for ``models.captioner.encoder``."""
    check_architecture(str(cfg.weak_backbone.architecture))
    cfg = without_evaluation_sets(cfg)
    config, device, tracker = label_config(cfg), resolve_device(cfg.device), make_tracker(cfg)
    require_shared_cache(device)
    selected = _select(cfg, config) if is_main_process() else None
    with shared_by_main(selected, device) as (subset, sha256, labels):
        _train(cfg, subset, sha256, labels, device, tracker)


def _select(cfg: DictConfig, config: LabelConfig) -> tuple[Subset, str, TopicLabels]:
    """Return the selected samples that have a label, the hash of their uids, and the labels."""
    pool = make_pool(cfg)
    folder = label_pool(pool, config, make_engine(cfg))
    chosen = choose(cfg, pool).selection
    labels = read_labels(folder, chosen.uids)
    selection = labelled(chosen, labels)
    subset = open_subset(pool, selection, tolerate=cfg.selection.tolerate)
    return subset, selection.sha256, labels


def _train(
    cfg: DictConfig, subset: Subset, sha256: str, labels: TopicLabels, device: torch.device, tracker: Tracker
) -> None:
    model = hydra.utils.instantiate(cfg.weak_backbone, _convert_="all", _partial_=True)(labels=labels)
    fingerprint = training_fingerprint(model, sha256, device.type)
    run_dir = cache_folder("trained", f"weak_backbone-{fingerprint}")
    tracker.start(run_facts(cfg, f"weak_backbone-{make_run_id(cfg, None)}"))
    with one_launch(run_dir, device):
        report = model.train(subset, run_dir, device, tracker, fingerprint)
    lowest, constant = labels.references()
    log.info(
        "weak backbone: loss %s of the last batch after %s samples, %.0f/s (best constant %.3f, optimum %.3f)",
        "unknown" if report.final_loss is None else f"{report.final_loss:.3f}",
        f"{report.samples_seen:,}",
        report.samples_per_second,
        constant,
        lowest,
    )
    print_result(str(run_dir / "model"))


def labelled(selection: Selection, labels: TopicLabels) -> Selection:
    """Return the selected samples that have a label. Raises `UserError` if none has."""
    kept = replace(
        selection, epochs=tuple(uids[find_uids(labels.uids, uids) >= 0] for uids in selection.epochs)
    )
    unlabelled = len(selection.uids) - len(kept.uids)
    if not len(kept.uids):
        raise UserError(
            f"none of the {unlabelled:,} selected captions has a label; choose another filter or a larger size"
        )
    if unlabelled:
        log.info(
            "weak backbone: %s of %s selected captions have no label",
            f"{unlabelled:,}",
            f"{len(selection.uids):,}",
        )
    return kept
