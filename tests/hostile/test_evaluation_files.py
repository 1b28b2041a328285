"""Evaluation sets that are cut, damaged or made to mislead are refused in one line, before anything is trained."""

import json
import os
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest

from benchmark.core.errors import UserError
from downstream.evaluation.evaluation_sets import EvaluationSet, coco_captions, karpathy, webdataset
from tests.hostile.hostile_tars import BLOCK, END, base_256, extended, header, member, noise
from tests.pools import jpeg

KEYS = ("a", "b", "c")


def pair(key: str, text: bytes = b"one\ntwo", image: bytes | None = None) -> bytes:
    return member(jpeg(ord(key)) if image is None else image, f"{key}.jpg") + member(text, f"{key}.txt")


GOOD = b"".join(map(pair, KEYS))


def write_webdataset(folder: Path) -> Path:
    """Three images in one tar, and a tar without any; returns the first."""
    (folder / "test").mkdir(parents=True)
    (folder / "test" / "nshards.txt").write_text("2")
    (folder / "test" / "1.tar").write_bytes(END)
    (folder / "test" / "0.tar").write_bytes(GOOD + END)
    return folder / "test" / "0.tar"


# The content of the tar, and a part of the line that refuses it.
TARS: Mapping[str, tuple[bytes, str]] = {
    "half of it": (GOOD[: len(GOOD) // 2 + 99], "cut or damaged"),
    "cut behind an image": (GOOD[: len(GOOD) - 2 * BLOCK], "cut or damaged"),
    "a member cut": (pair("a")[:BLOCK] + pair("a")[2 * BLOCK :] + pair("b") + END, "cut or damaged"),
    "a header lost": (pair("a") + noise(BLOCK) + pair("b")[BLOCK:] + pair("c") + END, "cut or damaged"),
    "both headers lost": (
        pair("a") + noise(BLOCK) + pair("b")[BLOCK : -2 * BLOCK] + noise(BLOCK) + pair("c") + END,
        "cut or damaged",
    ),
    "an image twice": (GOOD + member(jpeg(9), "a.jpg") + END, "sample a in"),
    "an image of two kinds": (GOOD + member(jpeg(9), "a.png") + END, "sample a in"),
    "a text twice": (GOOD + member(b"other", "a.txt") + END, "sample a in"),
    "no text": (GOOD + member(jpeg(9), "d.jpg") + END, "sample d"),
    "a text without end": (GOOD + pair("d", b"x" * (2**20 + 1)) + END, "d.txt in"),
    "a size below zero": (GOOD + header("d.jpg", b"0", base_256(-512)) + END, "cut or damaged"),
    "digits without end": (GOOD + extended(b"1" * 200_000) + header("d.jpg") + END, "cut or damaged"),
    "a web page": (b"<html>404</html>" * 99, "cut or damaged"),
}


def karpathy_file(**changes: Any) -> str:
    """A Karpathy file of three images; the second has `changes`."""
    images = [
        {"imgid": n, "filename": f"{n}.jpg", "split": "test", "sentences": [{"raw": "a cat"}]}
        for n in range(3)
    ]
    images[1] |= changes
    return json.dumps({"images": images})


# Changes to one entry of a Karpathy file.
ENTRIES: Mapping[str, dict[str, Any]] = {
    "an id that is a list": {"imgid": [1]},
    "an id that is a fraction": {"imgid": 1.5},
    "an id that is not a number": {"imgid": float("nan")},
    "a name that is a list": {"filename": ["1.jpg"]},
    "a name with a null": {"filename": "1.jpg\0"},
    "a name that is no text": {"filename": "\ud800.jpg"},
    "a name without end": {"filename": "n" * 10_000},
    "sentences that are text": {"sentences": "a cat"},
    "a caption of a lone surrogate": {"sentences": [{"raw": "a \ud800 cat"}]},
    "a caption of a list": {"sentences": [{"raw": ["a cat"]}]},
}


def in_tars(folder: Path) -> EvaluationSet:
    return webdataset("tars", str(folder), captioning=True, retrieval=True)


def refused(load: Any, *arguments: Any) -> str:
    with pytest.raises(UserError) as error:
        load(*arguments)
    assert "\n" not in str(error.value)
    return str(error.value)


@pytest.mark.parametrize("name", TARS)
def test_a_tar_that_is_not_whole_is_refused(tmp_path: Path, name: str) -> None:
    path = write_webdataset(tmp_path)
    assert len(in_tars(tmp_path)) == len(KEYS)
    data, message = TARS[name]
    path.write_bytes(data)
    assert message in refused(in_tars, tmp_path)


@pytest.mark.parametrize("cut", range(1, len(GOOD) + 1, 2999))
def test_a_tar_is_refused_wherever_it_is_cut(tmp_path: Path, cut: int) -> None:
    write_webdataset(tmp_path).write_bytes(GOOD[:cut])
    assert "cut or damaged" in refused(in_tars, tmp_path)


@pytest.mark.parametrize("make", [Path.mkdir, os.mkfifo])
def test_a_tar_must_be_a_file(tmp_path: Path, make: Callable[[Path], object]) -> None:
    path = write_webdataset(tmp_path)
    path.unlink()
    make(path)
    assert "0.tar cannot be fetched" in refused(in_tars, tmp_path)


@pytest.mark.parametrize("count", [b"1" * 5000, b"\xff\xfe\x00", "²".encode()])
def test_an_odd_count_of_tars_is_refused(tmp_path: Path, count: bytes) -> None:
    write_webdataset(tmp_path).with_name("nshards.txt").write_bytes(count)
    assert "must hold the number of shards" in refused(in_tars, tmp_path)


@pytest.mark.parametrize("image", [jpeg(1)[:400], b"", b"<html>404</html>"])
def test_an_image_that_cannot_be_decoded_is_refused_with_its_set(tmp_path: Path, image: bytes) -> None:
    """The fingerprint is part of the protocol, which is made before the training."""
    write_webdataset(tmp_path).write_bytes(GOOD + pair("d", image=image) + END)
    found = in_tars(tmp_path)
    assert "0.tar cannot be read (image_unreadable); fetch it again" in refused(found.fingerprint)
    assert in_tars(tmp_path).first(len(KEYS)).fingerprint()


def of_file(folder: Path, text: str) -> EvaluationSet:
    for number in range(3):
        (folder / f"{number}.jpg").write_bytes(jpeg(number))
    (folder / "a.json").write_text(text)
    return karpathy("file", str(folder / "a.json"), str(folder), captioning=True, retrieval=True)


@pytest.mark.parametrize("text", ["[" * 200_000, "1" * 5000, '{"a": ' + "1" * 5000 + "}"], ids=len)
def test_json_without_bounds_is_refused(tmp_path: Path, text: str) -> None:
    assert "must be JSON" in refused(of_file, tmp_path, text)


@pytest.mark.parametrize("kind", ENTRIES)
def test_an_odd_entry_is_refused(tmp_path: Path, kind: str) -> None:
    assert len(of_file(tmp_path, karpathy_file())) == 3
    assert "evaluation set file: " in refused(of_file, tmp_path, karpathy_file(**ENTRIES[kind]))


@pytest.mark.parametrize("images", ["5", "[5]", '{"a": 1}'])
def test_annotations_of_another_shape_are_refused(tmp_path: Path, images: str) -> None:
    (tmp_path / "a.json").write_text(f'{{"images": {images}, "annotations": []}}')
    message = refused(coco_captions, "coco", str(tmp_path / "a.json"), None, True, True)
    assert "must be a COCO captions file" in message
