"""Classification sets from small folders and webdatasets in the hub's layout."""

import io
import json
import shutil
from pathlib import Path
from typing import Any

import pytest
import webdataset as wds
from PIL import Image

from benchmark.core.errors import UserError
from downstream.evaluation.classification_sets import (
    ClassificationSet,
    classification_webdataset,
    clip_templates,
    image_folder,
)


def png(shade: int) -> bytes:
    buffer = io.BytesIO()
    Image.new("RGB", (8, 8), (shade, 0, 0)).save(buffer, "PNG")
    return buffer.getvalue()


def shades(items: Any) -> list[tuple[int, int]]:
    return [(item.load().getpixel((4, 4))[0], item.label) for item in items]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    for split, names in {"test": ("b.png", "A.PNG"), "train": ("x.png",)}.items():
        for shade, kind in enumerate(("hot dog", "apple")):
            (tmp_path / split / kind).mkdir(parents=True)
            for name in names:
                (tmp_path / split / kind / name).write_bytes(png(100 * shade + len(names)))
            (tmp_path / split / kind / "notes.txt").write_text("no image")
    return tmp_path


@pytest.fixture
def shards(tmp_path: Path) -> Path:
    root = tmp_path / "wds"
    for split, labels in {"test": (1, 0, 2), "train": (2, 1)}.items():
        (root / split).mkdir(parents=True)
        with wds.ShardWriter(str(root / split / "%d.tar"), maxcount=2, verbose=0) as sink:
            for i, label in enumerate(labels):
                sink.write({"__key__": f"s{i:07d}", "png": png(80 * label), "cls": label})
        (root / split / "nshards.txt").write_text(f"{-(-len(labels) // 2)}\n")
    (root / "classnames.txt").write_text("cat\ndog\nhot air balloon\n")
    (root / "zeroshot_classification_templates.txt").write_text("a photo of a {c}.\na {c}\n")
    return root


def test_a_folder_of_images(folder: Path) -> None:
    found = image_folder("food", str(folder), "accuracy", ["a {label}", "{label} on {label}"])
    assert found.classes == ["apple", "hot dog"]
    assert [item.image_id for item in found.test[:2]] == ["apple/A.PNG", "apple/b.png"]
    assert shades(found.test) == [(102, 0), (102, 0), (2, 1), (2, 1)]
    assert found.train is not None
    assert shades(found.train()) == [(101, 0), (1, 1)]
    assert list(found.prompts())[1] == ["a hot dog", "hot dog on hot dog"]
    assert found.probe_epochs == 90
    shutil.rmtree(folder / "train")
    assert image_folder("food", str(folder), "accuracy").train is None


def test_imagenets_ids_have_names(folder: Path) -> None:
    for split in ("test", "train"):
        for kind, wordnet_id in (("hot dog", "n07697537"), ("apple", "n04008634")):
            (folder / split / kind).rename(folder / split / wordnet_id)
    shutil.copytree(folder / "test" / "n04008634", folder / "test" / "n03773504")  # missile, too
    found = image_folder("food", str(folder), "accuracy", ["a {label}"])
    assert list(found.prompts()) == [["a missile"], ["a missile"], ["a hot dog"]]
    assert shades(found.test) == [(102, 0), (102, 0), (102, 1), (102, 1), (2, 2), (2, 2)]
    assert found.train is not None
    assert shades(found.train()) == [(101, 1), (1, 2)]
    (folder / "test" / "n03773504").rename(folder / "test" / "n00000001")
    with pytest.raises(UserError, match="set food: n00000001 must be one of ImageNet's 1,000 classes"):
        image_folder("food", str(folder), "accuracy")


def test_webdataset_of_the_hub(shards: Path) -> None:
    found = classification_webdataset("pets", str(shards), "mean_per_class", "own", probe_epochs=3)
    assert (found.score, found.probe_epochs) == ("mean_per_class", 3)
    assert shades(found.test) == [(80, 1), (0, 0), (160, 2)]
    assert found.train is not None
    assert shades(found.train()) == [(160, 2), (80, 1)]
    assert list(found.prompts())[2] == ["a photo of a hot air balloon.", "a hot air balloon"]
    of_another = classification_webdataset("pets", str(shards), "accuracy", train=f"file://{shards}/test")
    assert of_another.train is not None
    assert shades(of_another.train()) == shades(found.test)


def test_training_images_are_fetched_when_asked_for(shards: Path) -> None:
    (shards / "train" / "0.tar").unlink()
    found = classification_webdataset("pets", str(shards), "accuracy")
    assert found.train is not None
    with pytest.raises(UserError, match=r"train/0\.tar cannot be fetched"):
        found.train()
    assert classification_webdataset("pets", str(shards), "accuracy", train=None).train is None


def test_the_80_prompts_are_those_of_the_paper(shared_data: Path) -> None:
    ours = clip_templates()
    assert len(ours) == len(set(ours)) == 80
    path = "prompts_classes/clip_benchmark/en_zeroshot_classification_templates.json"
    copies = json.loads((shared_data / path).read_text())
    assert {template.replace("{label}", "{c}") for template in ours} == set(copies["imagenet1k"])


def test_an_unknown_class_is_an_error(shards: Path) -> None:
    for label in (b"3", b"-1", b"two", b"", b"9" * 50, "\u00b2".encode()):
        with wds.TarWriter(str(shards / "test" / "0.tar")) as sink:
            sink.write({"__key__": "odd", "png": png(1), "cls": label})
        with pytest.raises(UserError, match=r"of odd in .*0\.tar must be 0 to 2"):
            classification_webdataset("pets", str(shards), "accuracy")


def test_other_layouts_are_errors(shards: Path, folder: Path, tmp_path: Path) -> None:
    with pytest.raises(UserError, match="test is missing"):
        image_folder("food", str(tmp_path / "nowhere"), "accuracy")
    (folder / "train" / "pizza").mkdir()
    found = image_folder("food", str(folder), "accuracy")
    assert found.train is not None
    with pytest.raises(UserError, match="pizza must be a class of the test images too"):
        found.train()
    with pytest.raises(UserError, match="templates=mine must be a list, own, or null"):
        classification_webdataset("pets", str(shards), "accuracy", "mine")  # type: ignore[arg-type]
    (shards / "classnames.txt").unlink()
    with pytest.raises(UserError, match=r"classnames\.txt cannot be fetched"):
        classification_webdataset("pets", str(shards), "accuracy")


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"templates": ["a {label}", "a photo"]}, r"template 'a photo' must contain \{label\}"),
        ({"templates": []}, "templates is empty"),
        ({"score": "recall"}, "score=recall must be accuracy or mean_per_class"),
        ({"classes": ["apple"]}, "has 1 classes"),
        ({"test": []}, "has no images"),
    ],
)
def test_sets_that_cannot_be_scored_are_refused(folder: Path, fields: dict[str, Any], message: str) -> None:
    whole = image_folder("food", str(folder), "accuracy")
    with pytest.raises(UserError, match=message):
        ClassificationSet(**vars(whole) | fields)
