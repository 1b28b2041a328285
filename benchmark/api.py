"""The benchmark from Python, without Hydra: score a pool, select exactly k pairs, evaluate models and captions.

All three raise `UserError` for what a user can correct. Scores and features are cached as those of the command line.
"""

from collections.abc import Sequence
from pathlib import Path

from benchmark.core.devices import resolve_device
from benchmark.core.uids import write_subset
from benchmark.engine.local import LocalEngine
from benchmark.pool.pool import Pool
from benchmark.scoring.score_pool import score_pool
from benchmark.scoring.score_table import ScoreTable
from benchmark.selection.selection import Selection
from benchmark.selection.top_k import select_top_k
from downstream.evaluation.classification_sets import ClassificationSet
from downstream.evaluation.evaluation_sets import EvaluationSet
from downstream.metrics.base import CaptionMetric
from downstream.metrics.metric import Metric
from downstream.models.base import Downstream
from downstream.models.published import Published, PublishedCaptions
from filters.base import Filter


def score(pool: Pool | str | Path, scorer: Filter, device: str = "auto", workers: int = 1) -> ScoreTable:
    """Score every pair of a pool, or read what an earlier call or command scored.

    Args:
        pool: a folder or fsspec URL in the layout of img2dataset or DataComp, or a `Pool`.
        scorer: the filter.
        device: ``auto``, ``cpu``, ``cuda`` (all GPUs) or ``cuda:N``.
        workers: number of processes. With several, a script must call this below ``if __name__ == "__main__":``, and
            the filter's class must be importable.

    Returns:
        `uids` (n,), sorted, with their `scores` (n,), NaN for pairs that cannot be scored; `drops` counts the pairs
        that could not be read, by reason.
    """
    opened = pool if isinstance(pool, Pool) else Pool(Path(pool).name, str(pool))
    return score_pool(opened, scorer, LocalEngine(device, workers))


def select(table: ScoreTable, k: int, path: Path | str | None = None, seed: int = 0) -> Selection:
    """Select exactly k pairs, those with the highest scores.

    Args:
        table: the scores.
        k: number of pairs.
        path: where their uids are written, as DataComp's subset file: a ``.npy`` of sorted ``u8,u8``.
        seed: decides which of equal scores are selected.
    """
    selection = select_top_k(table, k, seed)
    if path is not None:
        write_subset(Path(path), selection.uids)
    return selection


def evaluate(
    model: Downstream | Published | Path | str,
    sets: Sequence[EvaluationSet | ClassificationSet],
    metrics: Sequence[CaptionMetric],
    folder: Path | str,
    device: str = "auto",
) -> dict[str, list[Metric]]:
    """Evaluate a model, or captions, on every evaluation set that fits.

    Args:
        model: a trained `Downstream`, a `Published` model, or a file of captions as COCO's results have them,
            ``[{"image_id", "caption"}]``.
        sets: the evaluation sets.
        metrics: the caption metrics; those of retrieval and classification are always the same.
        folder: where the captions and the scores of each image are written.
        device: where the model runs.

    Returns:
        The metrics by the name of their evaluation set. One that cannot be computed has a reason in place of a value.
    """
    resolved = resolve_device(device)
    candidate = PublishedCaptions(str(model)) if isinstance(model, Path | str) else model
    if isinstance(candidate, Published):
        candidate.load(resolved)
    return candidate.evaluate(sets, metrics, Path(folder), resolved)
