"""Evaluation sets from small files in the originals' layouts, and from real COCO photos."""

import codecs
import io
import json
import tarfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import fsspec
import pytest
import webdataset as wds
from huggingface_hub import HfFileSystem
from PIL import Image

from benchmark.core.errors import UserError
from benchmark.core.paths import cache_dir
from benchmark.core.requirements import State, look, provide
from downstream.evaluation.evaluation_sets import (
    EvaluationSet,
    Item,
    coco_captions,
    karpathy,
    webdataset,
)
from tests.pools import Row, write_tar

SPLITS = ("train", "test", "val", "test", "restval")


def jpeg(shade: int, path: Path | None = None) -> bytes:
    buffer = io.BytesIO()
    Image.new("RGB", (8, 8), (shade, 0, 0)).save(buffer, "JPEG")
    if path is not None:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(buffer.getvalue())
    return buffer.getvalue()


def write(path: Path, content: Any) -> str:
    path.write_text(json.dumps(content))
    return str(path)


@pytest.fixture
def coco(tmp_path: Path) -> dict[str, Any]:
    images = []
    for i, split in enumerate(SPLITS):
        jpeg(50 * i, tmp_path / "val2014" / f"{i}.jpg")
        sentences = [{"raw": f"caption {j} of {i}", "tokens": [], "imgid": i} for j in range(5 + i)]
        entry = {"filepath": "val2014", "filename": f"{i}.jpg", "imgid": i, "cocoid": 100 + i}
        images.append({**entry, "split": split, "sentences": sentences})
    annotations = write(tmp_path / "dataset_coco.json", {"images": images, "dataset": "coco"})
    return {
        "name": "coco",
        "annotations": annotations,
        "images": str(tmp_path),
        "captioning": True,
        "retrieval": True,
    }


@pytest.fixture
def nocaps(tmp_path: Path) -> dict[str, Any]:
    domains = ("in-domain", "near-domain", "out-domain")
    images = [{"id": i, "file_name": f"{i:016x}.jpg", "domain": domain} for i, domain in enumerate(domains)]
    for i, image in enumerate(images):
        jpeg(80 * i, tmp_path / str(image["file_name"]))
    annotations = [
        {"id": 10 * i + j, "image_id": i, "caption": f"caption {j} of {i}"}
        for j in range(10)
        for i in (2, 0, 1)
    ]
    path = write(tmp_path / "nocaps_val_4500_captions.json", {"images": images, "annotations": annotations})
    return {
        "name": "nocaps",
        "annotations": path,
        "images": str(tmp_path),
        "captioning": True,
        "retrieval": False,
    }


@pytest.fixture
def shards(tmp_path: Path) -> Path:
    folder = tmp_path / "wds" / "test"
    folder.mkdir(parents=True)
    with wds.ShardWriter(str(folder / "%d.tar"), maxcount=2, verbose=0) as sink:
        for i, ending in enumerate(("jpg", "webp", "jpg")):
            buffer = io.BytesIO()
            Image.new("RGB", (8, 8), (80 * i, 0, 0)).save(
                buffer, "JPEG" if ending == "jpg" else "WEBP", lossless=True
            )
            sink.write(
                {"__key__": f"s{i:07d}", ending: buffer.getvalue(), "txt": f"one of {i}\ntwo of {i}\n"}
            )
    (folder / "nshards.txt").write_text("2\n")
    return folder.parent


def shade(item: Item) -> int:
    red: int = item.load().getpixel((4, 4))[0]
    return red


def test_ids_given_as_text_match(nocaps: dict[str, Any]) -> None:
    content = json.loads(Path(nocaps["annotations"]).read_text())
    for annotation in content["annotations"]:
        annotation["image_id"] = str(annotation["image_id"])
    write(Path(nocaps["annotations"]), content)
    assert [len(item.references) for item in coco_captions(**nocaps).items] == [10, 10, 10]


def in_tar(folder: Path, key: str, ending: str) -> EvaluationSet:
    """A sample with the image of another format, and what macOS hides next to it."""
    image = io.BytesIO()
    Image.new("RGB", (8, 8)).save(image, "GIF")
    hidden = Row("._0", "", "", b"", files={"jpg": b"\0\5", "txt": b"\0\5"})
    sample = Row(key, "", "", b"", files={ending: image.getvalue(), "txt": b"a dog"})
    write_tar(folder / "test" / "0.tar", [hidden, sample])
    (folder / "test" / "nshards.txt").write_text("1")
    return webdataset("x", str(folder), captioning=True, retrieval=True)


@pytest.mark.parametrize("ending", ["JPG", "gif", "avif"])
def test_tars_of_evaluation_sets_take_what_pools_take(tmp_path: Path, ending: str) -> None:
    (item,) = in_tar(tmp_path, "0", ending).items
    assert (item.references, item.load().size) == (["a dog"], (8, 8))


def test_a_dotted_name_in_an_evaluation_tar_is_named(tmp_path: Path) -> None:
    with pytest.raises(UserError, match=r"sample photo in .* with one dot in each name"):
        in_tar(tmp_path, "photo.1", "jpg")


def test_karpathy_split(coco: dict[str, Any]) -> None:
    found = karpathy(**coco)
    assert (found.name, found.captioning, found.retrieval, len(found)) == ("coco", True, True, 2)
    assert [item.image_id for item in found.items] == [101, 103]
    assert [len(item.references) for item in found.items] == [6, 8]
    assert found.items[1].references[0] == "caption 0 of 3"
    assert [shade(item) for item in found.items] == pytest.approx([50, 150], abs=2)
    assert [item.image_id for item in karpathy(**coco, split="val").items] == [102]


def test_flickr30k_has_neither_cocoid_nor_filepath(tmp_path: Path) -> None:
    jpeg(9, tmp_path / "36979.jpg")
    entry = {"filename": "36979.jpg", "imgid": 7, "split": "test", "sentences": [{"raw": "a dog ."}]}
    annotations = write(tmp_path / "dataset_flickr30k.json", {"images": [entry]})
    (item,) = karpathy("flickr30k", annotations, str(tmp_path), captioning=False, retrieval=True).items
    assert (item.image_id, item.references, item.domain) == (7, ["a dog ."], None)


def test_nocaps_names_its_domains(nocaps: dict[str, Any]) -> None:
    found = coco_captions(**nocaps)
    assert [item.domain for item in found.items] == ["in-domain", "near-domain", "out-domain"]
    assert found.items[2].references == [f"caption {j} of 2" for j in range(10)]
    assert [shade(item) for item in found.items] == pytest.approx([0, 80, 160], abs=2)


def test_webdataset_of_the_hub(shards: Path) -> None:
    found = webdataset("coco", str(shards), captioning=True, retrieval=True)
    assert [item.image_id for item in found.items] == ["s0000000", "s0000001", "s0000002"]
    assert [item.references for item in found.items] == [[f"one of {i}", f"two of {i}"] for i in range(3)]
    assert [shade(item) for item in found.items] == pytest.approx([0, 80, 160], abs=2)
    assert {item.image.path.name for item in found.items} == {"0.tar", "1.tar"}


def test_a_remote_webdataset_is_fetched_once(shards: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    remote = fsspec.filesystem("memory")
    remote.put(str(shards), "/sets", recursive=True)
    one = provide(lambda: webdataset("coco", "memory://sets", captioning=True, retrieval=True))
    remote.rm("/sets", recursive=True)
    other = provide(lambda: webdataset("coco", "memory://sets", captioning=True, retrieval=True))
    assert one == other
    assert [shade(item) for item in other.items] == pytest.approx([0, 80, 160], abs=2)
    with pytest.raises(UserError, match=r"nshards\.txt cannot be fetched"):
        webdataset("coco", "memory://elsewhere", captioning=True, retrieval=True)


def test_a_remote_webdataset_is_looked_at_without_fetching_it(shards: Path) -> None:
    remote = fsspec.filesystem("memory")
    remote.put(str(shards), "/looked_at", recursive=True)
    found = look("coco", lambda: webdataset("coco", "memory://looked_at", captioning=True, retrieval=True))
    size = sum(tar.stat().st_size for tar in shards.rglob("*.tar"))
    assert (found.state, found.size) == (State.FIRST_USE, size)
    assert not list(cache_dir().rglob("*.tar"))
    provide(lambda: webdataset("coco", "memory://looked_at", captioning=True, retrieval=True))
    remote.rm("/looked_at", recursive=True)
    found = look("coco", lambda: webdataset("coco", "memory://looked_at", captioning=True, retrieval=True))
    assert found.state is State.PRESENT
    found = look("coco", lambda: webdataset("coco", "memory://nowhere", captioning=True, retrieval=True))
    assert found.state is State.MISSING


@pytest.mark.slow
def test_a_hub_that_cannot_be_reached_is_one_line(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_OFFLINE", False)
    monkeypatch.setattr("huggingface_hub.constants.ENDPOINT", "http://127.0.0.1:9")  # refuses connections
    HfFileSystem.clear_instance_cache()
    with pytest.raises(UserError, match=r"nshards\.txt cannot be fetched \(.*refused"):
        webdataset("coco", "hf://datasets/some/set", captioning=True, retrieval=True)
    HfFileSystem.clear_instance_cache()


def test_real_photos(shared_data: Path) -> None:
    root = shared_data / "coco_mini"
    found = coco_captions(
        "coco", str(root / "annotations/captions_train2017.json"), str(root / "train2017"), True, True
    )
    assert len(found) == 80
    assert all(len(item.references) >= 5 for item in found.items)
    assert min(found.items[0].load().size) > 200


def test_a_missing_file_is_an_error_that_says_where_to_get_it(
    coco: dict[str, Any], shards: Path, tmp_path: Path
) -> None:
    with pytest.raises(UserError, match=r"none\.json is missing; task=fetch gets what"):
        karpathy(**coco | {"annotations": str(tmp_path / "none.json")})
    with pytest.raises(UserError, match=r"2 image files are missing .*nowhere/val2014/1.jpg"):
        karpathy(**coco | {"images": str(tmp_path / "nowhere")})
    with pytest.raises(UserError, match=r"nshards.txt cannot be fetched \(no such file\)"):
        webdataset("coco", str(tmp_path / "nowhere"), captioning=True, retrieval=True)
    (shards / "test" / "1.tar").unlink()
    with pytest.raises(UserError, match=r"1\.tar cannot be fetched"):
        webdataset("coco", str(shards), captioning=True, retrieval=True)


def test_files_of_another_format_are_errors(coco: dict[str, Any], nocaps: dict[str, Any]) -> None:
    with pytest.raises(UserError, match="must be a Karpathy split file"):
        karpathy(**coco | {"annotations": nocaps["annotations"]})
    with pytest.raises(UserError, match="must be a COCO captions file"):
        coco_captions(**nocaps | {"annotations": coco["annotations"]})
    Path(coco["annotations"]).write_text("[1, 2]")
    with pytest.raises(UserError, match="must be a Karpathy split file, a JSON object, but holds a list"):
        karpathy(**coco)
    Path(coco["annotations"]).write_text("{half")
    with pytest.raises(UserError, match="must be JSON"):
        karpathy(**coco)


def test_sets_that_cannot_be_scored_are_refused(nocaps: dict[str, Any], coco: dict[str, Any]) -> None:
    content = json.loads(Path(nocaps["annotations"]).read_text())
    content["annotations"] = [a for a in content["annotations"] if a["image_id"] != 1]
    Path(nocaps["annotations"]).write_text(json.dumps(content))
    with pytest.raises(UserError, match="image 1 has no captions"):
        coco_captions(**nocaps)
    rewrite(nocaps["annotations"], lambda content: content.update(images=[], annotations=[]))
    with pytest.raises(UserError, match="lists no images; give its whole file"):
        coco_captions(**nocaps)


@pytest.mark.parametrize("split", ["trian", "val+tset", "", "test+"])
def test_a_wrong_split_is_answered_with_those_there(coco: dict[str, Any], split: str) -> None:
    wrong = {"val+tset": "tset", "trian": "trian"}.get(split, "")
    with pytest.raises(UserError, match=r"whose splits are restval, test, train, val; it has no ") as error:
        karpathy(**coco, split=split)
    assert f"split={split} " in str(error.value)
    assert str(error.value).endswith(repr(wrong))
    assert "task=fetch" not in str(error.value)


def rewrite(path: str, change: Callable[[Any], None]) -> None:
    content = json.loads(Path(path).read_text())
    change(content)
    Path(path).write_text(json.dumps(content))


def test_ids_that_repeat_are_refused(coco: dict[str, Any], shards: Path) -> None:
    rewrite(coco["annotations"], lambda content: content["images"][3].update(cocoid=101))
    with pytest.raises(UserError, match=r"set coco: 2 images have the id 101; ids .* must differ"):
        karpathy(**coco)
    (shards / "test" / "1.tar").write_bytes((shards / "test" / "0.tar").read_bytes())
    with pytest.raises(UserError, match="set wds: 2 images have the id s0000000"):
        webdataset("wds", str(shards), captioning=True, retrieval=True)


@pytest.mark.parametrize("caption", [None, 7, ["a cat"]])
def test_a_caption_that_is_no_text_is_refused(coco: dict[str, Any], caption: Any) -> None:
    rewrite(coco["annotations"], lambda content: content["images"][1]["sentences"][2].update(raw=caption))
    with pytest.raises(UserError, match=r"caption .* of image 101 must be text"):
        karpathy(**coco)


def test_a_byte_order_mark_is_read(coco: dict[str, Any], shards: Path) -> None:
    expected = karpathy(**coco), webdataset("wds", str(shards), captioning=True, retrieval=True)
    for path in (Path(coco["annotations"]), shards / "test" / "nshards.txt"):
        path.write_bytes(codecs.BOM_UTF8 + path.read_bytes())
    with wds.TarWriter(str(shards / "test" / "1.tar")) as sink:
        text = codecs.BOM_UTF8 + b"one of 2\ntwo of 2"
        sink.write({"__key__": "s0000002", "jpg": jpeg(160), "txt": text})
    found = karpathy(**coco), webdataset("wds", str(shards), captioning=True, retrieval=True)
    assert found[0] == expected[0]
    assert [item.references for item in found[1].items] == [item.references for item in expected[1].items]


def test_an_undecodable_image_is_an_error(coco: dict[str, Any]) -> None:
    found = karpathy(**coco)
    found.items[1].image.path.write_bytes(jpeg(1)[:100])
    with pytest.raises(UserError, match=r"evaluation image 103 in .*3.jpg cannot be read"):
        found.items[1].load()


@pytest.mark.parametrize("count", ["", "two", "-1", "99999999999"])
def test_a_broken_shard_count_is_an_error(shards: Path, count: str) -> None:
    (shards / "test" / "nshards.txt").write_text(count)
    with pytest.raises(UserError, match="must hold the number of shards"):
        webdataset("coco", str(shards), captioning=True, retrieval=True)


def test_broken_tars_are_errors(shards: Path) -> None:
    whole = (shards / "test" / "0.tar").read_bytes()
    (shards / "test" / "0.tar").write_bytes(b"no tar at all" * 100)
    with pytest.raises(UserError, match="is cut or damaged, or not a tar"):
        webdataset("coco", str(shards), captioning=True, retrieval=True)
    with tarfile.open(fileobj=io.BytesIO(whole)) as tar, tarfile.open(shards / "test" / "0.tar", "w") as kept:
        for member in tar.getmembers():
            if member.name != "s0000001.txt":
                kept.addfile(member, tar.extractfile(member))
    with pytest.raises(UserError, match=r"sample s0000001 in .* must have one image and one"):
        webdataset("coco", str(shards), captioning=True, retrieval=True)


def test_the_fingerprint_tells_images_of_one_size_apart(coco: dict[str, Any]) -> None:
    first = karpathy(**coco)
    fingerprint = first.fingerprint()
    assert karpathy(**coco).fingerprint() == fingerprint
    image = first.items[0].image
    assert image
    data = image.read()
    image.path.write_bytes(data[:15] + bytes([data[15] ^ 1]) + data[16:])  # its pixels per inch
    assert karpathy(**coco).fingerprint() != fingerprint


def test_without_images_references_are_compared(coco: dict[str, Any]) -> None:
    with_images, without = karpathy(**coco), karpathy(**coco | {"images": None})
    assert (
        with_images.fingerprint()
        != without.fingerprint()
        == karpathy(**coco | {"images": None}).fingerprint()
    )


def test_an_image_outside_of_its_folder_is_refused(tmp_path: Path) -> None:
    """Else the list of a set could let task=fetch write anywhere."""
    content = {"images": [{"id": 0, "file_name": "../a.jpg"}], "annotations": []}
    (tmp_path / "a.json").write_text(json.dumps(content))
    with pytest.raises(UserError, match=r"evaluation image \.\./a\.jpg must be in the folder of its set"):
        coco_captions("nocaps", str(tmp_path / "a.json"), str(tmp_path), captioning=True, retrieval=False)
