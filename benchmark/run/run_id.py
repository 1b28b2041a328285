"""The id of a run: a readable name and a hash of its settings."""

import json
from typing import TYPE_CHECKING, Any

import hydra
from omegaconf import DictConfig, OmegaConf

from benchmark.core.hashes import hash_text
from benchmark.core.paths import cache_dir
from benchmark.results.protocol import LIMIT
from benchmark.run.config import CONF, choice, filter_settings, resolved, size_name
from downstream.training.recipe_key import recipe_key

if TYPE_CHECKING:
    from downstream.models.base import Trainable

# The settings that make a run what it is; the rest (where it ran, where it logged) does not change its metrics.
IDENTITY = ("pool", "filter", "selector", "size", "downstream", "evalset", "metrics", "models", "seed")


def make_run_id(cfg: DictConfig, captions: str | None) -> str:
    """Return a readable name and a hash of all that the metrics depend on.

    Args:
        cfg: the configuration.
        captions: hash of the other captions, None if there are none.
    """
    identity: dict[str, Any] = {name: resolved(cfg[name]) for name in IDENTITY}
    identity["filter"] = resolved(filter_settings(cfg))
    identity["evalset"] = evaluation_identity(cfg)
    for model in identity["downstream"].values():
        if "training" in model:
            model_class: type[Trainable] = hydra.utils.get_class(model["_target_"])
            model["training"] = recipe_key(model["training"], model_class.workers_in_keys)
    if captions is not None:
        identity["captions"] = captions
    digest = portable_hash(identity)
    names = [cfg.pool.name, choice(cfg, "filter")]
    if choice(cfg, "selector") != "best":
        names.append(choice(cfg, "selector"))
    return f"{'-'.join(names)}-{size_name(cfg)}-seed{cfg.seed}-{digest}"


def without_evaluation_sets(cfg: DictConfig) -> DictConfig:
    """Return the configuration of a run that evaluates nothing: the folders of evaluation sets need not be set."""
    copy = cfg.copy()
    OmegaConf.update(copy, "evalset", {}, merge=False)
    return copy


def evaluation_identity(cfg: DictConfig) -> dict[str, Any]:
    """Return the settings of the evaluation sets, with the limit only if it is set: ids are older than it."""
    settings: dict[str, Any] = resolved(cfg.evalset)
    if settings.get(LIMIT) is None:
        settings.pop(LIMIT, None)
    return settings


def portable_hash(identity: dict[str, Any]) -> str:
    """Return a short hash of settings, the same wherever the checkout and the cache lie."""
    text = json.dumps(identity, sort_keys=True)
    # The demo's models and evaluation sets are paths in them, and one may lie in the other.
    for folder in sorted((str(CONF.parent), str(cache_dir())), key=len, reverse=True):
        text = text.replace(folder, "")
    return hash_text(text, 8)
