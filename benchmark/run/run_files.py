"""What a run leaves beside its result: the selection's summary, its gallery, examples of evaluation images."""

import logging
from collections.abc import Iterable
from pathlib import Path

from benchmark.pool.pool import Pool
from benchmark.pool.subset import Subset
from benchmark.results.gallery import examples, gallery
from benchmark.results.run_folder import write_examples, write_gallery
from benchmark.results.selection_statistics import summarise
from benchmark.results.selection_summary import write_selection_summary
from benchmark.run.choose import Chosen
from downstream.evaluation.classification_sets import ClassificationSet
from downstream.evaluation.evaluation_sets import EvaluationSet
from downstream.models.base import Downstream
from downstream.models.captioner import Captioner

log = logging.getLogger(__name__)


def write_run_files(
    folder: Path,
    pool: Pool,
    chosen: Chosen,
    subset: Subset,
    sets: Iterable[EvaluationSet | ClassificationSet],
    models: Iterable[Downstream],
) -> None:
    """Write ``selection.json``, ``gallery.parquet`` and, where a captioner is trained, ``examples.parquet``.

    A remote pool is not read again: its summary has no captions, and its gallery only pairs of the `subset`.
    """
    scores = chosen.table.source
    kept = scores.of_uids(chosen.selection.uids, chosen.selection.threshold)
    if not pool.is_local:
        log.info("describe: pool %s is remote; captions and images of dropped pairs are left out", pool.name)
    write_selection_summary(folder, summarise(scores, kept, chosen.scorer, pool if pool.is_local else None))
    write_gallery(folder, gallery(scores, kept, chosen.manifest.seed, subset.pool))
    if any(isinstance(model, Captioner) for model in models):
        write_examples(folder, examples(s for s in sets if isinstance(s, EvaluationSet) and s.captioning))
