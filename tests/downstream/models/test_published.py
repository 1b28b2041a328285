"""The identity of published models, which is not the path of their files, and captions of images on the disk."""

import shutil
from pathlib import Path

import pytest
import torch

from downstream.batching import StoredImages
from downstream.evaluation.evaluation_sets import ImageFile, Item
from downstream.models.published import PublishedCaptioner, PublishedClip
from tests.demos import demo_model
from tests.downstream.tiny_models import CAPTIONS, draw
from tests.filters.checkpoints import open_clip_model


def test_the_same_weights_are_the_same_model(tmp_path: Path) -> None:
    model = open_clip_model(tmp_path / "a")
    shutil.copytree(tmp_path / "a", tmp_path / "b")
    for content, name in ((b"one", "weights.pt"), (b"one", "copy.pt"), (b"two", "other.pt")):
        (tmp_path / name).write_bytes(content)
    for given, other, same in (
        (("ViT-B-32", "openai"), ("ViT-L-14", "openai"), False),
        ((model, None), (model.replace(str(tmp_path / "a"), str(tmp_path / "b")), None), True),
        (("ViT-B-32", str(tmp_path / "weights.pt")), ("ViT-B-32", str(tmp_path / "copy.pt")), True),
        (("ViT-B-32", str(tmp_path / "weights.pt")), ("ViT-B-32", str(tmp_path / "other.pt")), False),
    ):
        assert (PublishedClip(*given).identity() == PublishedClip(*other).identity()) == same


@pytest.mark.parametrize("prompt", ["", "a picture of"])
def test_captions_of_stored_images_are_the_same(prompt: str, tmp_path: Path) -> None:
    captioner = PublishedCaptioner(str(demo_model("blip")), prompt, beams=1, max_new_tokens=6, batch_size=2)
    captioner.load(torch.device("cpu"))
    items = []
    for number, caption in enumerate(CAPTIONS[:3]):
        draw(caption).save(tmp_path / f"{number}.png")
        items.append(Item(number, ImageFile(tmp_path / f"{number}.png"), []))
    expected = captioner.caption([item.load() for item in items])
    assert captioner.caption(StoredImages(items, "images")) == expected
    assert len(set(expected)) > 1
