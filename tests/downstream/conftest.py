"""Fixtures of the downstream tests: one thread, so that a busy machine does not slow tiny models a hundredfold."""

from collections.abc import Iterator

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


@pytest.fixture(scope="session", autouse=True)
def _one_thread() -> Iterator[None]:
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(threads)


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
