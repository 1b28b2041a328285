"""Fixtures of the downstream tests: eight pairs, and tiny models with random weights."""

import pytest
import torch

from tests.downstream.tiny_models import (
    CAPTIONS,
    Checkpoints,
    MemorySubset,
    save_bert,
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
        )
