"""Evaluation sets from small files in the originals' layouts; `test_tars.py` has those in tars."""

import codecs
import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from PIL import Image

from benchmark.core.errors import UserError
from downstream.evaluation.evaluation_sets import Item, coco_captions, karpathy

SPLITS = ("train", "test", "val", "test", "restval")
USES = {"captioning": True, "retrieval": True}


def write(path: Path, content: Any) -> str:
    path.write_text(json.dumps(content))
    return str(path)


def save_image(red: int, path: Path) -> None:
    path.parent.mkdir(exist_ok=True)
    Image.new("RGB", (8, 8), (red, 0, 0)).save(path)


@pytest.fixture
def coco(tmp_path: Path) -> dict[str, Any]:
    images = []
    for i, split in enumerate(SPLITS):
        save_image(50 * i, tmp_path / "val2014" / f"{i}.jpg")
        sentences = [{"raw": f"caption {j} of {i}", "tokens": [], "imgid": i} for j in range(5 + i)]
        entry = {"filepath": "val2014", "filename": f"{i}.jpg", "imgid": i, "cocoid": 100 + i}
        images.append({**entry, "split": split, "sentences": sentences})
    annotations = write(tmp_path / "dataset_coco.json", {"images": images, "dataset": "coco"})
    return {"name": "coco", "annotations": annotations, "images": str(tmp_path), **USES}


@pytest.fixture
def nocaps(tmp_path: Path) -> dict[str, Any]:
    domains = ("in-domain", "near-domain", "out-domain")
    images = [{"id": i, "file_name": f"{i:016x}.jpg", "domain": domain} for i, domain in enumerate(domains)]
    for i, image in enumerate(images):
        save_image(80 * i, tmp_path / str(image["file_name"]))
    annotations = [{"image_id": i, "caption": f"caption {j} of {i}"} for j in range(10) for i in (2, 0, 1)]
    path = write(tmp_path / "nocaps_val_4500_captions.json", {"images": images, "annotations": annotations})
    return {"name": "nocaps", "annotations": path, "images": str(tmp_path), **USES}


def red(item: Item) -> int:
    return int(item.load().getpixel((4, 4))[0])


def rewrite(given: dict[str, Any], change: Callable[[Any], object]) -> None:
    content = json.loads(Path(given["annotations"]).read_text())
    change(content)
    write(Path(given["annotations"]), content)


def test_karpathy_split(coco: dict[str, Any]) -> None:
    found = karpathy(**coco)
    assert (found.name, found.captioning, found.retrieval, len(found)) == ("coco", True, True, 2)
    assert [item.image_id for item in found.items] == [101, 103]
    assert [len(item.references) for item in found.items] == [6, 8]
    assert found.items[1].references[0] == "caption 0 of 3"
    assert [red(item) for item in found.items] == pytest.approx([50, 150], abs=2)
    assert [item.image_id for item in karpathy(**coco, split="val+test").items] == [101, 102, 103]
    path = Path(coco["annotations"])
    path.write_bytes(codecs.BOM_UTF8 + path.read_bytes())
    assert karpathy(**coco) == found


def test_flickr30k_has_neither_cocoid_nor_filepath(tmp_path: Path) -> None:
    save_image(9, tmp_path / "36979.jpg")
    entry = {"filename": "36979.jpg", "imgid": 7, "split": "test", "sentences": [{"raw": "a dog ."}]}
    annotations = write(tmp_path / "dataset_flickr30k.json", {"images": [entry]})
    (item,) = karpathy("flickr30k", annotations, str(tmp_path), captioning=False, retrieval=True).items
    assert (item.image_id, item.references, item.domain) == (7, ["a dog ."], None)


def test_nocaps_names_its_domains(nocaps: dict[str, Any]) -> None:
    found = coco_captions(**nocaps)
    assert [item.domain for item in found.items] == ["in-domain", "near-domain", "out-domain"]
    assert found.items[2].references == [f"caption {j} of 2" for j in range(10)]
    assert [red(item) for item in found.items] == pytest.approx([0, 80, 160], abs=2)
    rewrite(nocaps, lambda content: [a.update(image_id=str(a["image_id"])) for a in content["annotations"]])
    assert coco_captions(**nocaps) == found  # some files quote ids


def test_files_that_are_missing_or_of_another_format_are_named(
    coco: dict[str, Any], nocaps: dict[str, Any], tmp_path: Path
) -> None:
    (tmp_path / "list.json").write_text("[1, 2]")
    for load, given, changes, message in (
        (karpathy, coco, {"annotations": str(tmp_path / "no.json")}, r"no\.json is missing; task=fetch gets"),
        (karpathy, coco, {"images": str(tmp_path / "no")}, r"2 image files are missing .*no/val2014/1.jpg"),
        (karpathy, coco, {"annotations": nocaps["annotations"]}, "must be a Karpathy split file"),
        (coco_captions, nocaps, {"annotations": coco["annotations"]}, "must be a COCO captions file"),
        (karpathy, coco, {"annotations": str(tmp_path / "list.json")}, "a JSON object, but holds a list"),
    ):
        with pytest.raises(UserError, match=message):
            load(**given | changes)


def without_captions_of_1(content: Any) -> None:
    content["annotations"] = [a for a in content["annotations"] if a["image_id"] != 1]


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (without_captions_of_1, "image 1 has no captions"),
        (lambda content: content.update(images=[], annotations=[]), "lists no images; give its whole file"),
        (lambda content: content["images"][0].update(id=1), r"2 images have the id 1; ids .* must differ"),
        (lambda content: content["images"][0].update(file_name="../a.jpg"), r"a\.jpg must be in the folder"),
    ],
)
def test_sets_that_cannot_be_scored_are_refused(
    nocaps: dict[str, Any], change: Callable[[Any], None], message: str
) -> None:
    """An image outside of its folder: else the list of a set could let task=fetch write anywhere."""
    rewrite(nocaps, change)
    with pytest.raises(UserError, match=message):
        coco_captions(**nocaps)


@pytest.mark.parametrize(
    ("split", "wrong"), [("trian", "trian"), ("val+tset", "tset"), ("", ""), ("test+", "")]
)
def test_a_wrong_split_is_answered_with_the_known_ones(coco: dict[str, Any], split: str, wrong: str) -> None:
    line = f"split={split} must be of .*, whose splits are restval, test, train, val; it has no {wrong!r}$"
    with pytest.raises(UserError, match=line.replace("+", re.escape("+"))):
        karpathy(**coco, split=split)


def test_an_undecodable_image_is_an_error(coco: dict[str, Any]) -> None:
    found = karpathy(**coco)
    path = found.items[1].image.path
    path.write_bytes(path.read_bytes()[:100])
    with pytest.raises(UserError, match=r"evaluation image 103 in .*3.jpg cannot be read"):
        found.items[1].load()
    with pytest.raises(UserError, match=r"evaluation image .*3.jpg cannot be read .*; fetch it again"):
        found.fingerprint()


def test_the_fingerprint_tells_images_of_one_size_apart(coco: dict[str, Any]) -> None:
    first = karpathy(**coco)
    without = karpathy(**coco | {"images": None})
    fingerprint = first.fingerprint()
    assert karpathy(**coco).fingerprint() == fingerprint
    assert karpathy(**coco | {"images": None}).fingerprint() == without.fingerprint() != fingerprint
    with pytest.raises(UserError, match="evaluation image 101 is needed; set images of its evalset"):
        without.items[0].load()
    image = first.items[0].image
    data = image.read()
    image.path.write_bytes(data[:15] + bytes([data[15] ^ 1]) + data[16:])  # its pixels per inch
    assert karpathy(**coco).fingerprint() != fingerprint
