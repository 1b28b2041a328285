"""Evaluation of a model that embeds images and texts: retrieval and classification."""

from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path

from benchmark.core.errors import UserError
from downstream.evaluation.classification import classify
from downstream.evaluation.classification_sets import ClassificationSet
from downstream.evaluation.evaluation_sets import EvaluationSet
from downstream.evaluation.image_scores import ImageScores
from downstream.evaluation.linear_probe import FrozenTower
from downstream.evaluation.protocols import Embeds
from downstream.evaluation.retrieval import evaluate_retrieval
from downstream.metrics.metric import Metric, failure


def evaluate_embeddings(
    model: Embeds,
    sets: Sequence[EvaluationSet | ClassificationSet],
    tower: FrozenTower | str,
    folder: Path,
) -> dict[str, list[Metric]]:
    """Evaluate on every set for retrieval, then on every classification set.

    Args:
        model: embeds images and texts.
        sets: all evaluation sets of the run.
        tower: what a linear probe is trained on, see `classify`.
        folder: where the ranks of all queries are left.
    """
    kept = ImageScores()
    described = [s for s in sets if isinstance(s, EvaluationSet) and s.retrieval]
    results = {
        s.name: _or_failure("retrieval", partial(evaluate_retrieval, model, s, kept)) for s in described
    }
    labelled = [s for s in sets if isinstance(s, ClassificationSet)]
    results |= {
        s.name: _or_failure("classification", partial(classify, model, s, tower, kept)) for s in labelled
    }
    kept.write(folder)
    return results


def _or_failure(name: str, evaluate: Callable[[], list[Metric]]) -> list[Metric]:
    """Return the metrics of a set, or where they fail one absent metric of that name."""
    try:
        return evaluate()
    except UserError:
        raise
    except Exception as error:
        return [Metric(name, None, failure(name, error), 0, "")]
