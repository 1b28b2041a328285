"""Fixtures of the downstream tests: eight pairs, and tiny models with random weights."""

import json
import shutil
from dataclasses import asdict, replace
from pathlib import Path

import pytest
import torch

from tests.downstream.tiny_models import (
    CAPTIONS,
    Checkpoints,
    MemorySubset,
    save_bert,
    save_clip_architecture,
    save_gpt2,
    save_swin,
    save_vit,
)


@pytest.fixture(scope="session")
def eight_pairs() -> MemorySubset:
    return MemorySubset(CAPTIONS)


@pytest.fixture(scope="session")
def checkpoints(tmp_path_factory: pytest.TempPathFactory) -> Checkpoints:
    root = tmp_path_factory.mktemp("checkpoints")
    with torch.random.fork_rng():
        torch.manual_seed(0)
        return Checkpoints(
            swin=str(save_swin(root / "swin")),
            gpt2=str(save_gpt2(root / "gpt2", CAPTIONS)),
            vit=str(save_vit(root / "vit")),
            bert=str(save_bert(root / "bert", CAPTIONS)),
            clip=str(save_clip_architecture(root / "clip")),
        )


@pytest.fixture(scope="session")
def without_dropout(checkpoints: Checkpoints) -> Checkpoints:
    """Each rank and each part of a batch draws its own dropout, so only models without it can be compared."""
    quiet = {}
    for name, folder in asdict(checkpoints).items():
        if name == "clip":  # has none
            continue
        copy = Path(folder + "-quiet")
        shutil.copytree(folder, copy, dirs_exist_ok=True)
        config = json.loads((copy / "config.json").read_text())
        dropouts = {key: 0.0 for key in config if "drop" in key or "pdrop" in key}
        (copy / "config.json").write_text(json.dumps(config | dropouts))
        quiet[name] = str(copy)
    return replace(checkpoints, **quiet)
