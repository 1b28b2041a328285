from pathlib import Path

import numpy as np
import pytest
import torch
from safetensors.torch import save_file

from benchmark.core.batch import Batch
from benchmark.core.errors import UserError
from filters.aesthetics import Aesthetics
from tests.pools import numbered_uids

IMAGES = np.random.default_rng(0).normal(size=(5, 8)).astype(np.float32)


def score(path: Path) -> np.ndarray:
    scorer = Aesthetics("unused", None, str(path))
    scorer.setup(torch.device("cpu"))
    return scorer.score(Batch(numbered_uids(5), [], features={"image": IMAGES}))


def test_a_chain_of_layers_is_run_in_its_order(tmp_path: Path) -> None:
    """The released head: linear layers and dropout, numbered by position; as text, ten would sort before two."""
    torch.manual_seed(0)
    sizes = [(8, 6), (6, 6), (6, 6), (6, 6), (6, 6), (6, 1)]
    layers = [layer for size in sizes for layer in (torch.nn.Linear(*size), torch.nn.Dropout())]
    chain = torch.nn.Sequential(*layers[:-1]).eval()
    torch.save({f"layers.{name}": of for name, of in chain.state_dict().items()}, tmp_path / "head.pth")
    with torch.no_grad():
        expected = chain(torch.from_numpy(IMAGES))[:, 0].numpy()
    assert score(tmp_path / "head.pth") == pytest.approx(expected, abs=1e-6)


def test_a_head_with_activations_is_refused(tmp_path: Path) -> None:
    parts = [part for _ in range(2) for part in (torch.nn.Linear(8, 8), torch.nn.ReLU(), torch.nn.Dropout())]
    chain = torch.nn.Sequential(*parts, torch.nn.Linear(8, 1))
    torch.save({f"layers.{name}": of for name, of in chain.state_dict().items()}, tmp_path / "head.pth")
    with pytest.raises(UserError, match="has more than dropout between its linear layers"):
        score(tmp_path / "head.pth")


def test_a_single_layer(tmp_path: Path) -> None:
    save_file({"weight": torch.arange(8.0)[None], "bias": torch.tensor([2.0])}, tmp_path / "head.safetensors")
    assert score(tmp_path / "head.safetensors") == pytest.approx(IMAGES @ np.arange(8) + 2, abs=1e-5)
