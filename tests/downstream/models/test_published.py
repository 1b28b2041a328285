"""What identifies a published model, not the path of its files; captions of images that processes decode."""

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


def test_models_with_the_same_tag_are_different() -> None:
    models = [PublishedClip(model, "openai") for model in ("ViT-B-32", "ViT-L-14")]
    assert models[0].identity() != models[1].identity()


def test_a_copy_of_the_weights_is_the_same_model(tmp_path: Path) -> None:
    model = open_clip_model(tmp_path / "a")
    shutil.copytree(tmp_path / "a", tmp_path / "b")
    copy = model.replace(str(tmp_path / "a"), str(tmp_path / "b"))
    assert PublishedClip(model, None).identity() == PublishedClip(copy, None).identity()


def test_weights_in_a_file_count_by_their_content(tmp_path: Path) -> None:
    identities = []
    for content, name in ((b"one", "weights.pt"), (b"one", "copy.pt"), (b"two", "other.pt")):
        weights = tmp_path / name
        weights.write_bytes(content)
        identities.append(PublishedClip("ViT-B-32", str(weights)).identity())
    assert identities[0] == identities[1] != identities[2]


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
