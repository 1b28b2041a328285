"""``task=augment``: generate one additional caption for each selected pair, for training with `captions.files`."""

import logging

from benchmark.core.batch import counts
from benchmark.core.paths import cache_folder
from benchmark.core.storage import local_path
from benchmark.run.config import build
from benchmark.run.job import Job
from benchmark.run.open_samples import open_readable
from benchmark.run.output import print_result
from benchmark.run.score import score_pairs
from benchmark.run.select import select_pairs
from pairsift.studies.ds_clip.caption_writer import Augmenter, write_captions

log = logging.getLogger(__name__)


def augment(job: Job) -> None:
    """Select pairs and write captions; the last line on stdout is the folder, a value for ``captions.files``."""
    output = job.cfg.task.output
    output = None if output is None else local_path("task.output", str(output))
    augmenter: Augmenter = build(job.cfg.augmentation)
    name = augmenter.key()  # fails early if the checkpoint is missing, before the pool is scored
    subset, selected = open_readable(job, select_pairs(job, score_pairs(job)))
    identity = subset.identity(selected.selection.sha256)
    default = cache_folder("augmented", f"{name}-{identity[:16]}")
    folder = default if output is None else output
    drops = write_captions(subset, identity, augmenter, folder, job.engine)
    written = f"{len(subset) - drops.total():,} of {selected.manifest.distinct:,} samples"
    log.info("augment: captions of %s (dropped: %s)", written, counts(drops | subset.missing) or "none")
    print_result(str(folder))
