"""The protocol of a run, gathered from its configuration."""

from collections.abc import Mapping, Sequence

from hydra.core.hydra_config import HydraConfig
from omegaconf import DictConfig

from benchmark.core.devices import device_type
from benchmark.pool.content import pool_content
from benchmark.pool.pool import Pool
from benchmark.results.protocol import (
    CONTAMINATION,
    QUICK_TRY,
    SIZE,
    Protocol,
    flat_facts,
    protocol_overrides,
    published_experiment,
)
from benchmark.results.report.columns import thousands
from benchmark.run.config import choice, subset_size
from benchmark.run.downstream_config import evaluation_limit
from downstream.evaluation.classification_sets import ClassificationSet
from downstream.evaluation.evaluation_sets import EvaluationSet
from downstream.metrics.base import CaptionMetric
from downstream.metrics.metric import library
from downstream.models.base import Downstream


def run_protocol(
    cfg: DictConfig,
    pool: Pool,
    models: Mapping[str, Downstream],
    sets: Sequence[EvaluationSet | ClassificationSet],
    metrics: Sequence[CaptionMetric],
) -> Protocol:
    """Return what runs must share to be compared with this one.

    Raises `UserError` if the starting weights of a model cannot be had.
    """
    k, samples = subset_size(cfg), int(cfg.size.samples)
    facts = {"pool": str(pool_content(pool)), SIZE: f"{k:,} pairs"}
    for name, model in models.items():
        facts |= flat_facts(name, model.identity())
    facts |= {f"evaluation.{s.name}": f"{len(s):,} images, {s.fingerprint()}" for s in sets}
    facts |= {f"metric.{name}": metric.version() for metric in metrics for name in metric.names}
    facts |= dict.fromkeys(("metric.retrieval", "metric.classification"), library("pairsift"))
    facts["evaluation images in the pool"] = CONTAMINATION
    device = device_type(cfg.device)
    facts["precision"] = ", ".join(sorted({model.training.precision_on(device) for model in models.values()}))
    overrides = list(HydraConfig.get().overrides.task)
    limit = evaluation_limit(cfg)
    if limit is not None:
        facts[QUICK_TRY] = f"the first {limit:,} images of each evaluation set, comparable to nothing"
    published = published_experiment(choice(cfg, "experiment"), samples, overrides)
    changed = protocol_overrides(overrides)
    name = ", ".join([f"{published or pool.name} {thousands(samples)}", *changed])
    name = name if limit is None else f"{QUICK_TRY}: {name}"
    return Protocol(name, facts, published, changed)
