from pathlib import Path

import numpy as np
import pytest
import torch
from safetensors.torch import save_file

from benchmark.core.batch import Batch
from benchmark.core.errors import UserError
from filters.aesthetics import Aesthetics
from tests.pools import numbered_uids

CPU = torch.device("cpu")
IMAGES = np.random.default_rng(0).normal(size=(5, 8)).astype(np.float32)


def score(path: Path) -> np.ndarray:
    scorer = Aesthetics("unused", None, str(path))
    scorer.setup(CPU)
    return scorer.score(Batch(numbered_uids(5), [], features={"image": IMAGES}))


def test_a_chain_of_layers_is_run_in_its_order(tmp_path: Path) -> None:
    # The released head: linear layers and dropout, numbered as they stand; ten would sort before two.
    torch.manual_seed(0)
    chain = torch.nn.Sequential(
        torch.nn.Linear(8, 6), torch.nn.Dropout(), torch.nn.Linear(6, 6), torch.nn.Dropout(), torch.nn.Linear(6, 6),
        torch.nn.Dropout(), torch.nn.Linear(6, 6), torch.nn.Dropout(), torch.nn.Linear(6, 6), torch.nn.Dropout(),
        torch.nn.Linear(6, 1),
    ).eval()  # fmt: skip
    state = {f"layers.{name}": tensor for name, tensor in chain.state_dict().items()}
    torch.save(state, tmp_path / "head.pth")
    with torch.no_grad():
        expected = chain(torch.from_numpy(IMAGES))[:, 0].numpy()
    assert score(tmp_path / "head.pth") == pytest.approx(expected, abs=1e-6)


def test_a_single_layer(tmp_path: Path) -> None:
    save_file({"weight": torch.arange(8.0)[None], "bias": torch.tensor([2.0])}, tmp_path / "head.safetensors")
    assert score(tmp_path / "head.safetensors") == pytest.approx(IMAGES @ np.arange(8) + 2, abs=1e-5)


def test_what_a_user_may_get_wrong(tmp_path: Path) -> None:
    with pytest.raises(UserError, match=r"needs filter.head=FILE; get sac\+logos"):
        Aesthetics("unused", None, None)
    with pytest.raises(UserError, match="file not found"):
        Aesthetics("unused", None, str(tmp_path / "none.pth")).identity()
    torch.save({"a": torch.zeros(2)}, tmp_path / "other.pth")
    with pytest.raises(UserError, match="must hold linear layers"):
        score(tmp_path / "other.pth")
    (tmp_path / "broken.pth").write_bytes(b"no weights at all")
    with pytest.raises(UserError, match="cannot be read"):
        score(tmp_path / "broken.pth")
    save_file({"weight": torch.zeros(1, 9), "bias": torch.zeros(1)}, tmp_path / "wide.safetensors")
    with pytest.raises(UserError, match=r"takes 9 dimensions, filter\.model=unused gives 8"):
        score(tmp_path / "wide.safetensors")
