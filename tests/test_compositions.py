"""A remembered composition is the one that Hydra makes."""

from typing import Any

import pytest
from omegaconf import DictConfig, ListConfig

from tests.compositions import remember_compositions
from tests.jobs import compose_config

COMMANDS = (
    ["filter=clip", "seed=3"],
    ["filter=clip", "size=100k", "+evalset.coco.limit=3"],
    ["filter=rank_sum", "downstream=captioner"],
    ["~tracker"],
    ["task=report"],
)


def nodes(config: Any) -> list[Any]:
    """All that a configuration holds: the value, types and flags of each node."""
    content, flags = config.__dict__.get("_content"), config._metadata.flags or {}
    facts = vars(config._metadata) | {
        "resolver_cache": None,
        "flags": {n: v for n, v in flags.items() if v is not None},
    }
    if isinstance(config, DictConfig) and isinstance(content, dict):
        return [facts, *((key, nodes(node)) for key, node in content.items())]
    if isinstance(config, ListConfig) and isinstance(content, list):
        return [facts, *map(nodes, content)]
    return [facts, type(config), config._value()]


def test_a_remembered_composition_is_hydras(compositions_remembered: pytest.MonkeyPatch) -> None:
    def composed() -> list[Any]:
        return [nodes(compose_config(*command, return_hydra_config=True)) for command in COMMANDS]

    compositions_remembered.undo()
    of_hydra = composed()
    remember_compositions(compositions_remembered)
    assert composed() == composed() == of_hydra
