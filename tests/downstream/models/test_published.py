"""What identifies a published model: its architecture and weights, not the path of its files."""

import shutil
from pathlib import Path

from downstream.models.published import PublishedClip
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
