"""Evaluation sets that are cut, damaged or made to mislead: changes to the files of a good one."""

import json
import os
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

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


# What stands in place of the tar, and a part of the line that refuses it.
TARS: Mapping[str, tuple[bytes, str]] = {
    "half of it": (GOOD[: len(GOOD) // 2 + 99], "cut or damaged"),
    "cut behind a sample": (GOOD[: len(pair("a"))], "cut or damaged"),
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
    "nothing": (b"", "cut or damaged"),
}
COUNTS = {
    "digits": b"1" * 5000,
    "no text": b"\xff\xfe\x00",
    "a fraction": b"1.0",
    "superscript": "²".encode(),
}
ODD_FILES: Mapping[str, Callable[[Path], object]] = {"a folder": Path.mkdir, "a pipe": os.mkfifo}

DEEP = "[" * 200_000
NOT_JSON: Mapping[str, str] = {
    "nested without end": DEEP,
    "digits": "1" * 5000,
    "a number of digits": '{"a": ' + "1" * 5000 + "}",
}


def karpathy_file(**changes: Any) -> str:
    """A Karpathy file of three images, the second of which has `changes`."""
    images = [
        {"imgid": n, "filename": f"{n}.jpg", "split": "test", "sentences": [{"raw": "a cat"}]}
        for n in range(3)
    ]
    images[1] |= changes
    return json.dumps({"images": images})


# Changes to one entry of a Karpathy file.
ENTRIES: Mapping[str, dict[str, Any]] = {
    "an id that is a list": {"imgid": [1]},
    "an id that is an object": {"imgid": {"a": 1}},
    "an id that is nothing": {"imgid": None},
    "an id that is a fraction": {"imgid": 1.5},
    "an id that is not a number": {"imgid": float("nan")},
    "a name that is a list": {"filename": ["1.jpg"]},
    "a name that is nothing": {"filename": None},
    "a name with a null": {"filename": "1.jpg\0"},
    "a name that is no text": {"filename": "\ud800.jpg"},
    "a name without end": {"filename": "n" * 10_000},
    "sentences that are text": {"sentences": "a cat"},
    "sentences that are nothing": {"sentences": None},
    "a caption of a lone surrogate": {"sentences": [{"raw": "a \ud800 cat"}]},
    "a caption of a list": {"sentences": [{"raw": ["a cat"]}]},
}
