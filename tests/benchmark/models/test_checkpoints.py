"""Checkpoints that are incomplete, and files of the hub that need no download."""

import json
import os
from collections.abc import Iterator
from pathlib import Path

import pytest
import torch
from PIL import Image
from safetensors.torch import save_file

from benchmark.core.errors import UserError
from benchmark.core.paths import atomic_folder, atomic_write
from benchmark.core.requirements import State
from benchmark.models.checkpoints import (
    checkpoint_requirement,
    find_checkpoint,
    load_image_processor,
    locate_checkpoint,
)
from benchmark.models.hub import unused_files
from tests.servers import Behaviour, hub_server

INDEX = {"weight_map": {"a": "model-00001-of-00002.safetensors", "b": "model-00002-of-00002.safetensors"}}


def write_checkpoint(folder: Path, shards: int) -> None:
    """Write an index of two files of weights, and the first `shards` of them."""
    folder.mkdir(parents=True)
    (folder / "model.safetensors.index.json").write_text(json.dumps(INDEX))
    for name, file in list(INDEX["weight_map"].items())[:shards]:
        save_file({name: torch.zeros(1)}, folder / file)


@pytest.fixture
def hub(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The snapshot folder of ``some/model`` in an empty cache of the hub, which is offline."""
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_CACHE", str(tmp_path))
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_OFFLINE", True)
    root = tmp_path / "models--some--model"
    (root / "refs").mkdir(parents=True)
    (root / "refs" / "main").write_text("c0ffee")
    find_checkpoint.cache_clear()
    return root / "snapshots" / "c0ffee"


VIT = {"model_type": "vit"}
BOTH = {"model_type": "vision-encoder-decoder", "encoder": VIT, "decoder": {"model_type": "gpt2"}}


@pytest.mark.parametrize("config", [VIT, BOTH])
def test_a_former_name_of_an_image_processor_loads(config: dict[str, object], tmp_path: Path) -> None:
    (tmp_path / "config.json").write_text(json.dumps(config))
    old = {
        "image_processor_type": "ViTFeatureExtractor",
        "size": {"height": 32, "width": 48},
        "do_resize": True,
    }
    (tmp_path / "preprocessor_config.json").write_text(json.dumps(old))
    save_file({"a": torch.zeros(1)}, tmp_path / "model.safetensors")
    pixels = load_image_processor(str(tmp_path))(images=[Image.new("RGB", (9, 9))], return_tensors="pt")
    assert pixels["pixel_values"].shape == (1, 3, 32, 48)


@pytest.mark.parametrize(
    ("shards", "missing"),
    [(2, ""), (1, "model-00002-of-00002.safetensors"), (0, "model-00001"), (-1, "all weights")],
)
def test_a_partial_download_is_named_in_one_line(hub: Path, shards: int, missing: str) -> None:
    write_checkpoint(hub, max(shards, 0))
    if shards < 0:
        (hub / "model.safetensors.index.json").rename(hub / "config.json")
    if not missing:
        assert locate_checkpoint("some/model") == locate_checkpoint(str(hub)) == hub
        return
    with pytest.raises(UserError, match=rf"only a part .*without {missing}.*run task=fetch"):
        locate_checkpoint("some/model")
    if shards >= 0:  # a folder may be without weights
        with pytest.raises(UserError, match=rf"c0ffee is incomplete: it lacks {missing}"):
            locate_checkpoint(str(hub))


def test_a_hub_that_cannot_be_reached_is_one_line(hub: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_OFFLINE", False)
    monkeypatch.setattr("huggingface_hub.constants.ENDPOINT", "http://127.0.0.1:9")  # refuses connections
    with pytest.raises(
        UserError, match=r"it is not on this machine, and the hub is disabled or cannot be reached"
    ):
        locate_checkpoint("some/model")


@pytest.fixture
def online(hub: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """A hub with ``some/model`` and ``some/gated_model``, whose files it refuses."""
    for name in ("model", "gated_model"):
        folder = tmp_path / "web" / "models" / "some" / name
        folder.mkdir(parents=True)
        for file, size in {
            "config.json": 50_000,
            "model.safetensors": 3_000_000,
            "pytorch_model.bin": 9,
        }.items():
            (folder / file).write_bytes(bytes(size))
    with hub_server(tmp_path / "web", Behaviour(), monkeypatch):
        monkeypatch.setattr("huggingface_hub.constants.HF_HUB_CACHE", str(tmp_path))
        yield


@pytest.mark.usefixtures("online")
def test_the_size_of_a_download_is_asked_of_the_hub(hub: Path) -> None:
    needed = checkpoint_requirement("some/model")
    assert (needed.state, needed.detail) == (State.FIRST_USE, "some/model: 3 MB from the hub")
    assert needed.size == 3_050_000  # the weights count once
    write_checkpoint(hub, 2)
    there = checkpoint_requirement("some/model")
    assert (there.state, there.detail) == (State.PRESENT, str(hub))


@pytest.mark.usefixtures("online")
def test_a_gated_model_is_missing_without_access() -> None:
    needed = checkpoint_requirement("some/gated_model")
    assert needed.state is State.MISSING
    assert "hf auth login` and ask for access at https://huggingface.co/some/gated_model" in needed.detail


def test_weights_in_two_formats_are_downloaded_once() -> None:
    files = [
        "config.json", "model.safetensors", "pytorch_model.bin", "pytorch_model-00001-of-00002.bin",
        "unet/diffusion_pytorch_model.bin", "unet/diffusion_pytorch_model.safetensors",
        "vae/diffusion_pytorch_model.bin", "vae/diffusion_pytorch_model.fp16.safetensors",
        "open_clip_pytorch_model.bin",
    ]  # fmt: skip
    unused = [file for file in unused_files(files) if file in files]
    assert unused == [
        "pytorch_model.bin", "pytorch_model-00001-of-00002.bin", "unet/diffusion_pytorch_model.bin"
    ]  # fmt: skip


def test_written_weights_are_as_readable_as_any_file(tmp_path: Path) -> None:
    weights = {"a": torch.zeros(1)}
    before = os.umask(0o027)
    try:
        with atomic_write(tmp_path / "a.safetensors") as temporary:
            save_file(weights, temporary)
        with atomic_folder(tmp_path / "model") as folder:
            save_file(weights, folder / "a.safetensors")
    finally:
        os.umask(before)
    for path in (tmp_path / "a.safetensors", tmp_path / "model" / "a.safetensors"):
        assert path.stat().st_mode & 0o777 == 0o640
