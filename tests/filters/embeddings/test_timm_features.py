"""Any timm model as an embedding: the same vectors as timm's own, loaded from a folder in its format."""

import shutil
from pathlib import Path

import numpy as np
import pytest
import timm
import torch
from PIL import Image
from timm.models import save_for_hf

from benchmark.core.batch import Batch
from benchmark.core.errors import UserError
from filters.embeddings.timm_features import TimmFeatures
from tests.pools import numbered_uids

CPU = torch.device("cpu")


@pytest.fixture(scope="module", params=["vit_tiny_patch16_224", "resnet10t"])
def saved(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> tuple[Path, torch.nn.Module]:
    folder = tmp_path_factory.mktemp(request.param)
    with torch.random.fork_rng():
        torch.manual_seed(0)
        size = {"img_size": 64, "depth": 1} if "vit" in request.param else {}
        model = timm.create_model(request.param, num_classes=5, **size).eval()
    shape = {"input_size": (3, 64, 64), "crop_pct": 1.0}
    model.pretrained_cfg |= shape | {"mean": (0.4,) * 3, "std": (0.3,) * 3}
    save_for_hf(model, folder, model_args=size, safe_serialization=True)
    return folder, model


def images() -> list[Image.Image]:
    rng = np.random.default_rng(0)
    return [Image.fromarray(rng.integers(0, 256, (64, 64, 3), dtype=np.uint8)) for _ in range(3)]


def test_vectors_are_the_models_pooled_features(saved: tuple[Path, torch.nn.Module]) -> None:
    folder, model = saved
    features = TimmFeatures(f"local-dir:{folder}")
    features.setup(CPU)
    found = features.extract(Batch(numbered_uids(3), [], images=images()))["image"]
    pixels = torch.stack(
        [(torch.from_numpy(np.array(i)).permute(2, 0, 1) / 255 - 0.4) / 0.3 for i in images()]
    )
    with torch.inference_mode():
        expected = model.forward_head(model.forward_features(pixels), pre_logits=True)
    expected = torch.nn.functional.normalize(expected, dim=-1)
    assert found == pytest.approx(expected.numpy(), abs=1e-4)


def test_weights_are_part_of_the_identity(saved: tuple[Path, torch.nn.Module], tmp_path: Path) -> None:
    def revision(change: int) -> str:
        folder = Path(shutil.copytree(saved[0], tmp_path / str(change)))
        weights = bytearray((folder / "model.safetensors").read_bytes())
        weights[-1] ^= change
        (folder / "model.safetensors").write_bytes(weights)
        return TimmFeatures(f"local-dir:{folder}").identity()["model"]

    assert TimmFeatures(f"local-dir:{saved[0]}").identity()["model"] == revision(0) != revision(1)


@pytest.mark.parametrize(
    ("model", "message"),
    [
        ("vit_small_patch8_224.din", "did you mean 'vit_small_patch8_224.dino'"),
        ("local-dir:/nowhere", r"must hold a file config\.json"),
        ("vit_tiny_patch16_224", "no weights|cannot be loaded"),
    ],
)
def test_missing_weights_are_refused(model: str, message: str) -> None:
    with pytest.raises(UserError, match=message):
        TimmFeatures(model).setup(CPU)
