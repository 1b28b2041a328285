"""Finds the scale models that need no training, because they were trained from the current inputs.

The inputs are the config, the constants of the model's module, the demo world, and the models that it starts from.
"""

import hashlib
import json
import sys
from dataclasses import fields, replace
from pathlib import Path
from typing import Any

from tools.scale_models.export import MODELS
from tools.scale_models.model_card import read_cards
from tools.scale_models.registry import Script

Config = Any  # the dataclass of a model's settings; its fields of type Path are models that it starts from


def config_in(models: Path, config: Config) -> Config:
    """Return `config` with the models that it starts from taken from the folder `models`."""
    starts = {name: models / path.relative_to(MODELS) for name, path in starting_models(config).items()}
    return replace(config, **starts)


def starting_models(config: Config) -> dict[str, Path]:
    """Return the folders of the models that training starts from, by field."""
    values = {field.name: getattr(config, field.name) for field in fields(config)}
    return {name: value for name, value in values.items() if isinstance(value, Path)}


def fingerprint(script: Script, config: Config) -> str:
    """Return a hash of all inputs of a training; paths count by their content."""
    starts = starting_models(config)
    settings = {
        field.name: getattr(config, field.name) for field in fields(config) if field.name not in starts
    }
    constants = {
        name: value
        for name, value in vars(sys.modules[script.train.__module__]).items()
        if name.isupper() and _is_plain(value)
    }
    inputs = {
        "settings": repr(sorted(settings.items())),
        "constants": constants,
        "world": script.world(),
        "starts": {name: content(folder) for name, folder in starts.items()},
    }
    return hashlib.sha256(json.dumps(inputs, sort_keys=True).encode()).hexdigest()[:16]


def content(folder: Path) -> str:
    """Return a hash of the names and bytes of all files in `folder`; empty if there are none."""
    digest = hashlib.sha256()
    files = sorted(path for path in folder.rglob("*") if path.is_file())
    for path in files:
        digest.update(f"{path.relative_to(folder)}\n{path.stat().st_size}\n".encode())
        digest.update(path.read_bytes())
    return digest.hexdigest()[:16] if files else ""


def is_up_to_date(models: Path, name: str, inputs: str) -> bool:
    """Return whether the folder `models`/`name` holds the model of a training with this fingerprint of inputs."""
    card = read_cards(models).get(name, {})
    written = content(models / name)
    return bool(written) and (card.get("inputs"), card.get("content")) == (inputs, written)


def _is_plain(value: object) -> bool:
    if isinstance(value, dict):
        return all(_is_plain(part) for pair in value.items() for part in pair)
    if isinstance(value, (list, tuple)):
        return all(_is_plain(part) for part in value)
    return isinstance(value, (str, int, float))
