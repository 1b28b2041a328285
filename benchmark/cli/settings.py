"""The types of the settings that no class takes, from their lines in ``conf``: ``name: default # (type) meaning``.

The type is written as an error says it, such as ``limit: null # (a positive integer, or null for all images)``. A
setting without one has the type of its default: an integer or number is positive, null is text or null. The settings
below a node with a `_target_` are the arguments of its class.
"""

import re
from functools import cache
from types import NoneType
from typing import Annotated, Any, Literal, Union

import yaml
from omegaconf import OmegaConf
from pydantic import Field

from benchmark.cli.overrides import COMBINED, GROUPS
from benchmark.core.ranges import (
    TYPE_NAMES,
    Device,
    Fraction,
    NonNegativeFloat,
    PositiveFloat,
    PositiveInt,
    Precision,
    Seed,
    requirement,
)
from benchmark.run.config import CONF, PERCENT

NODE = dict[str, Any]
NODES = {"*": NODE}  # a star means any other name
WRITTEN = re.compile(r"# \(([^)]+)\)")
Path = Annotated[str, Field(min_length=1, description="one folder or file")]
Samples = Annotated[int, Field(gt=0, description="a number of samples, such as 2m, 500k or 20000")]
Cosine = Annotated[float, Field(ge=-1, le=1, description="a number from -1 to 1")]
Part = Annotated[str, Field(pattern=f"^{PERCENT}$", description="a percentage such as 10%")]
RANGES = (Cosine, Device, Fraction, NonNegativeFloat, Part, Path, PositiveInt, Precision, Samples, Seed)
TYPES: dict[str, Any] = {
    **{requirement(kind): kind for kind in (*TYPE_NAMES, *RANGES)},
    "a list": list[str],
    "true or a metric": bool | str,
    "a file or a list of files": str | list[str],
    "a list of positive numbers": list[PositiveFloat],
    "a positive number": PositiveFloat,
    "a group of settings": NODE,
    "groups of settings": NODES,
}


@cache  # a sweep checks each of its jobs
def setting_types() -> dict[str, Any]:
    """Return the types of all settings by their names; a mapping is a group of settings."""
    types: dict[str, Any] = {group: NODES if group in COMBINED else NODE for group in GROUPS}
    files = {"size": "size/200k", "models": "models/paper", "icc": "icc/paper"}
    types |= {group: _types_of(file) for group, file in files.items()}
    types["icc"] |= _types_of("icc/reading/ours")
    for path in (CONF / "task").glob("*.yaml"):
        if path.read_text(encoding="utf-8").startswith("# @package _global_"):
            types |= _types_of(f"task/{path.stem}") | {"task": NODE}
    settings = _types_of("config")
    settings["evalset"] |= NODES
    return types | settings


@cache
def task_types(task: str) -> dict[str, Any]:
    """Return the types of the settings below `task` of a task of ours."""
    types = _types_of(f"task/{task}")
    return {} if "task" in types else types  # settings that other tasks read too are a group at the top level


def parse_type(words: str) -> Any:
    """Return the type that is written as ``a positive integer, or null for never``. Raises `KeyError` for others."""
    if words in TYPES:
        return TYPES[words]
    first, null, _ = words.partition(", or null")
    options = [first] if first in TYPES else re.split(", or |, | or ", first)
    kinds = [TYPES[option] if " " in option else TYPES.get(option, Literal[option]) for option in options]
    kind: Any = Union[*kinds, *[NoneType] * bool(null)]
    return kind if requirement(kind) == words else Annotated[kind, Field(description=words)]


def _types_of(file: str) -> dict[str, Any]:
    """Return the types of the settings of a config."""
    path = CONF / f"{file}.yaml"
    text = path.read_text(encoding="utf-8")
    written: Any = yaml.compose(text, yaml.SafeLoader)
    return _types(written, OmegaConf.to_container(OmegaConf.load(path)), text.split("\n"))


def _types(node: yaml.Node, values: Any, lines: list[str]) -> dict[str, Any]:
    """Return the types of the settings in a mapping, given its values and the lines of its file."""
    types: dict[str, Any] = {}
    for key, value in node.value:
        if key.value in ("defaults", "hydra", "_target_"):
            continue
        default = values[key.value]
        if written := WRITTEN.search(lines[key.start_mark.line]):
            types[key.value] = parse_type(written[1])
        elif isinstance(default, dict) and "_target_" not in default:
            types[key.value] = _types(value, default, lines)
        else:
            types[key.value] = _type(default)
    return types


def _type(default: Any) -> Any:
    """Return the type of a setting by its default."""
    if default == "???":
        return Path
    kinds = {bool: bool, int: PositiveInt, float: PositiveFloat, str: str, list: list[str], dict: NODE}
    return kinds.get(type(default), str | None)
