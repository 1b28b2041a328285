"""Functions that build downstream models, evaluation sets and metrics from the Hydra configuration."""

from __future__ import annotations

from typing import TYPE_CHECKING

import hydra
from omegaconf import DictConfig

from benchmark.results.protocol import LIMIT

if TYPE_CHECKING:
    from downstream.evaluation.classification_sets import ClassificationSet
    from downstream.evaluation.evaluation_sets import EvaluationSet
    from downstream.metrics.base import CaptionMetric
    from downstream.models.base import Downstream


def evaluation_nodes(cfg: DictConfig) -> dict[str, DictConfig]:
    """Return the settings of each evaluation set by its name; `evalset` has a limit beside them."""
    return {str(name): node for name, node in cfg.evalset.items() if name != LIMIT}


def evaluation_limit(cfg: DictConfig) -> int | None:
    """Return ``evalset.limit``, the number of images of each set; None for all."""
    limit: int | None = cfg.evalset.get(LIMIT)
    return limit


def load_evaluation_set(node: DictConfig) -> EvaluationSet | ClassificationSet:
    """Load one evaluation set, given by its settings."""
    evaluation_set: EvaluationSet | ClassificationSet = hydra.utils.instantiate(node, _convert_="all")
    return evaluation_set


def load_evaluation_sets(cfg: DictConfig) -> list[EvaluationSet | ClassificationSet]:
    """Load every evaluation set that the configuration lists under `evalset`, cut to its first images by a limit."""
    limit = evaluation_limit(cfg)
    sets = [load_evaluation_set(node) for node in evaluation_nodes(cfg).values()]
    return sets if limit is None else [evaluation_set.first(limit) for evaluation_set in sets]


def make_metrics(cfg: DictConfig) -> list[CaptionMetric]:
    """Build every caption metric that the configuration lists under `metrics`."""
    return [hydra.utils.instantiate(node, _convert_="all") for node in cfg.metrics.values()]


def make_models(cfg: DictConfig) -> dict[str, Downstream]:
    """Return the downstream models by name; they load their starting weights later, when they are trained."""
    return {str(n): hydra.utils.instantiate(node, _convert_="all") for n, node in cfg.downstream.items()}
