"""PAC-S checkpoints: small ones with the papers' names for weights, and the full size's names and shapes."""

from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors.torch import save_file
from torch import Tensor

from benchmark.core.errors import UserError
from benchmark.core.images import decode_image
from benchmark.models.clip_models import ClipModel, load_clip
from benchmark.models.pac_clip import load_pac_clip, merge_lora, pac_revision
from tests.filters.checkpoints import open_clip_model
from tests.pools import jpeg

CPU = torch.device("cpu")
RANK = 4  # of the released PAC-S++
ADAPTED = (
    "attn.in_proj_weight",
    "attn.out_proj.weight",
    "mlp.c_fc.weight",
    "mlp.c_proj.weight",
    "conv1.weight",
)


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> str:
    return open_clip_model(tmp_path_factory.mktemp("pac") / "clip")


@pytest.fixture(scope="module")
def base(model: str) -> ClipModel:
    return load_clip(model, None, CPU)


@pytest.fixture(scope="module")
def state(base: ClipModel) -> dict[str, Tensor]:
    """Other weights of the same shapes."""
    generator = torch.Generator().manual_seed(1)
    before = base.model.state_dict()
    return {k: v + 0.2 * torch.randn(v.shape, generator=generator) for k, v in before.items()}


def with_lora(state: dict[str, Tensor], rank: int = RANK) -> dict[str, Tensor]:
    """Add factors as the released LoRA layers name and shape them."""
    generator = torch.Generator().manual_seed(2)
    found = dict(state)
    for name, weight in state.items():
        if name.endswith(ADAPTED):
            stem = name + "_" if name.endswith("in_proj_weight") else name.removesuffix("weight")
            kernel = weight.shape[-1] if weight.ndim == 4 else 1
            rows, columns = weight.shape[0] * kernel, weight.shape[1] * kernel
            found[stem + "lora_A"] = 0.3 * torch.randn(rank * kernel, columns, generator=generator)
            found[stem + "lora_B"] = 0.3 * torch.randn(rows, rank * kernel, generator=generator)
    return found


def saved(path: Path, state: Any) -> str:
    torch.save({"state_dict": state, "epoch": 3}, path)
    return str(path)


def test_a_whole_checkpoint_replaces_every_weight(
    model: str, base: ClipModel, state: dict[str, Tensor], tmp_path: Path
) -> None:
    archive = state | {"input_resolution": torch.tensor(32), "vocab_size": 49408, "context_length": 16}
    clip = load_pac_clip(model, None, saved(tmp_path / "clip.pth", archive), CPU)
    assert all(torch.equal(clip.model.state_dict()[name], tensor) for name, tensor in state.items())
    assert not clip.model.training
    images = [decode_image(jpeg(seed)) for seed in range(3)]
    assert abs(clip.embed_images(images) - base.embed_images(images)).max() > 0.05
    assert str(clip.preprocess) == str(base.preprocess)


def test_lora_is_merged_by_hand() -> None:
    weights = {
        "b.attn.in_proj_weight": torch.zeros(3, 1),
        "b.attn.in_proj_weight_lora_A": torch.tensor([[1.0], [2.0]]),
        "b.attn.in_proj_weight_lora_B": torch.tensor([[1.0, 0.0], [0.0, 1.0], [1.0, 1.0]]),
        "b.attn.out_proj.weight": torch.ones(1, 2),
        "b.attn.out_proj.lora_A": torch.tensor([[3.0, 4.0]]),
        "b.attn.out_proj.lora_B": torch.tensor([[2.0]]),
        "b.mlp.c_fc.weight": torch.ones(1, 1),
        "b.mlp.c_fc.lora_A": torch.ones(1, 1),
        "b.mlp.c_fc.lora_B": torch.ones(1, 1),
        "conv1.weight": torch.ones(1, 1, 2, 2),
        "conv1.lora_A": torch.tensor([[1.0, 2.0], [3.0, 4.0]]),  # rank 1: two rows for a kernel of two
        "conv1.lora_B": torch.eye(2),
    }
    merged = merge_lora(weights)
    names = {"b.attn.in_proj_weight", "b.attn.out_proj.weight", "b.mlp.c_fc.weight", "conv1.weight"}
    assert merged.keys() == names
    # alpha is 1, so a product of rank 2 counts half.
    assert merged["b.attn.in_proj_weight"].tolist() == [[0.5], [1.0], [1.5]]
    assert merged["b.attn.out_proj.weight"].tolist() == [[7.0, 9.0]]
    assert merged["conv1.weight"].tolist() == [[[[2.0, 3.0], [4.0, 5.0]]]]
    assert merged["b.mlp.c_fc.weight"].tolist() == [[1.0]]


def test_safetensors_change_what_they_hold_and_nothing_else(
    model: str, base: ClipModel, tmp_path: Path
) -> None:
    path = tmp_path / "projections.safetensors"
    changed = {"text_projection": torch.full((32, 16), 0.25, dtype=torch.float16)}
    save_file(changed, path)
    found = load_pac_clip(model, None, str(path), CPU).model.state_dict()
    for name, tensor in base.model.state_dict().items():
        assert found[name].dtype == torch.float32
        assert torch.equal(found[name], torch.full((32, 16), 0.25) if name in changed else tensor), name


class Harmful:
    def __reduce__(self) -> tuple[Any, ...]:
        return print, ("unpickled",)


def test_what_is_no_checkpoint_is_one_line(
    model: str, state: dict[str, Tensor], tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    wrong = {name: tensor for name, tensor in state.items() if name != "text_projection"}
    (tmp_path / "text.pth").write_text("<html>quota exceeded</html>")
    (tmp_path / "text.safetensors").write_text("<html>")
    torch.save([1, 2], tmp_path / "list.pth")
    save_file({"text_projection": torch.zeros(2)}, tmp_path / "shape.safetensors")
    cases = {
        None: "needs its authors' weights",
        str(tmp_path / "gone.pth"): "gone.pth is not there",
        str(tmp_path / "text.pth"): "cannot be read as weights",
        str(tmp_path / "text.safetensors"): "cannot be read as weights",
        str(tmp_path / "list.pth"): "it holds a list",
        saved(tmp_path / "harmful.pth", {"a": Harmful()}): "cannot be read as weights",
        saved(tmp_path / "empty.pth", {}): "holds no state_dict",
        saved(tmp_path / "missing.pth", wrong): r"does not fit .*text_projection",
        saved(tmp_path / "more.pth", state | {"head.weight": torch.zeros(2)}): "unknown weight head.weight",
        saved(tmp_path / "half.pth", state | {"visual.conv1.lora_A": torch.zeros(64, 48)}): r"conv1\.lora_B",
        str(tmp_path / "shape.safetensors"): "size mismatch",
    }
    for checkpoint, message in cases.items():
        with pytest.raises(UserError, match=message) as caught:
            load_pac_clip(model, None, checkpoint, CPU)
        assert "github.com/aimagelab/pacscore" in str(caught.value)
        assert "\n" not in str(caught.value)
    assert "unpickled" not in capfd.readouterr().out


def test_the_revision_is_the_weights(model: str, state: dict[str, Tensor], tmp_path: Path) -> None:
    first, same = (saved(tmp_path / f"{name}.pth", state) for name in ("first", "same"))
    other = saved(tmp_path / "other.pth", state | {"text_projection": torch.zeros(32, 16)})
    assert pac_revision(model, other) != pac_revision(model, first)
    assert pac_revision(model, first).keys() == {"revision", "checkpoint_revision"}
    assert len(pac_revision("ViT-B-32", same)) == 1


@pytest.mark.full
@pytest.mark.parametrize(
    ("tag", "lora", "activation"),
    [("openai", True, "QuickGELU"), ("laion2b_s34b_b79k", False, "GELU")],
)
def test_the_published_size_loads(tag: str, lora: bool, activation: str, tmp_path: Path) -> None:
    base = load_clip("ViT-B-32", tag, CPU, load_weights=False).model.state_dict()
    state = {name: torch.tensor(0.5).expand(weight.shape).clone() for name, weight in base.items()}
    clip = load_pac_clip(
        "ViT-B-32", tag, saved(tmp_path / "pac.pth", with_lora(state) if lora else state), CPU
    )
    assert clip.model.state_dict().keys() == state.keys()
    assert torch.equal(clip.model.visual.proj, state["visual.proj"])
    assert type(clip.model.visual.transformer.resblocks[0].mlp.gelu).__name__ == activation
