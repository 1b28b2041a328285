"""Files and members of zips, fetched from a server that does what servers on the web do wrong."""

import os
import zipfile
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest

from benchmark.core import storage
from benchmark.core.fetched_files import fetch_files, fetch_members
from benchmark.core.storage import StorageError
from tests.extras import needs_extra
from tests.servers import Behaviour, http_server

pytestmark = needs_extra("http")
NOISE = np.random.default_rng(0).bytes(90_000)
MEMBERS = {"in/noise.bin": NOISE, "in/text.txt": b"a cat " * 9_000, "other.bin": bytes(99)}


@pytest.fixture(autouse=True)
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(storage, "FIRST_WAIT", 0.01)
    monkeypatch.setattr(storage, "STALL_SECONDS", 0.15)
    monkeypatch.setattr(storage, "CHUNK", 20_000)


@pytest.fixture
def root(tmp_path: Path) -> Path:
    root = tmp_path / "root"
    root.mkdir()
    with zipfile.ZipFile(root / "all.zip", "w") as archive:
        for name, data in MEMBERS.items():
            packed = zipfile.ZIP_DEFLATED if name.endswith("txt") else zipfile.ZIP_STORED
            archive.writestr(name, data, packed)
    return root


def test_members_arrive_whole_and_nothing_else_stays(root: Path, tmp_path: Path) -> None:
    wanted = {tmp_path / "out" / name.replace("/", "-"): name for name in MEMBERS if name.startswith("in/")}
    with http_server(root, behaviour := Behaviour(busy=1, drops=1)) as url:
        fetch_members(f"{url}/all.zip", wanted)
        sent = behaviour.sent(".zip")
        fetch_members(f"{url}/all.zip", wanted)
    assert {path: path.read_bytes() for path in (tmp_path / "out").iterdir()} == {
        path: MEMBERS[name] for path, name in wanted.items()
    }
    assert behaviour.sent(".zip") == sent  # those that are there stay


def damaged(data: bytes) -> bytes:
    return data.replace(NOISE[:99], NOISE[1:100])


@pytest.mark.parametrize(
    ("ranges", "change", "name", "message"),
    [
        (False, bytes, "in/noise.bin", r"sends whole files only; download it, and unzip in/noise\.bin to "),
        (True, damaged, "in/noise.bin", r"in/noise\.bin is damaged"),
        (True, bytes, "in/nowhere.jpg", "has no member in/nowhere.jpg"),
        (True, lambda _: b"<html>", "in/text.txt", "must be a zip"),
    ],
)
def test_what_cannot_be_unpacked_is_one_line_and_not_kept(
    root: Path, tmp_path: Path, ranges: bool, change: Callable[[bytes], bytes], name: str, message: str
) -> None:
    path = root / "all.zip"
    path.write_bytes(change(path.read_bytes()))
    with (
        http_server(root, Behaviour(ranges=ranges)) as url,
        pytest.raises(StorageError, match=message),
    ):
        fetch_members(f"{url}/all.zip", {tmp_path / "out" / "file": name})
    assert not list(tmp_path.glob("out/*"))


def test_two_that_fetch_one_file_at_once_fetch_it_once(root: Path, tmp_path: Path) -> None:
    (root / "noise.bin").write_bytes(NOISE)
    path = tmp_path / "noise.bin"
    with http_server(root, behaviour := Behaviour(latency=0.02)) as url, ThreadPoolExecutor(2) as both:
        for done in [both.submit(fetch_files, {path: f"{url}/noise.bin"}) for _ in range(2)]:
            done.result()
    assert path.read_bytes() == NOISE
    assert behaviour.sent(".bin") == len(NOISE) + 1  # and the byte that tells whether ranges are sent


def test_a_part_of_another_version_is_not_continued(
    root: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    served, path = root / "noise.bin", tmp_path / "noise.bin"
    served.write_bytes(bytes(90_000))
    read_range = storage.read_range

    def interrupted(url: str, start: int, end: int) -> bytes:
        if start >= 40_000:
            raise StorageError("the network is gone")
        return read_range(url, start, end)

    with http_server(root, Behaviour()) as url:
        with monkeypatch.context() as patch:
            patch.setattr(storage, "read_range", interrupted)
            with pytest.raises(StorageError, match="the network is gone"):
                fetch_files({path: f"{url}/noise.bin"})
        served.write_bytes(NOISE)
        os.utime(served, (0, 0))  # another version of the same size
        fetch_files({path: f"{url}/noise.bin"})
    assert path.read_bytes() == NOISE
