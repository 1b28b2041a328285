"""Files and members of zips, fetched from a server that does what servers on the web do wrong."""

import zipfile
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


def wanted(folder: Path) -> dict[Path, str]:
    return {folder / Path(name).name: name for name in MEMBERS if name.startswith("in/")}


def test_members_arrive_whole_and_nothing_else_stays(root: Path, tmp_path: Path) -> None:
    with http_server(root, behaviour := Behaviour(busy=1, drops=2)) as url:
        fetch_members(f"{url}/all.zip", wanted(tmp_path / "out"))
        sent = behaviour.sent(".zip")
        fetch_members(f"{url}/all.zip", wanted(tmp_path / "out"))
    assert {path.name: path.read_bytes() for path in (tmp_path / "out").iterdir()} == {
        "noise.bin": MEMBERS["in/noise.bin"], "text.txt": MEMBERS["in/text.txt"]
    }  # fmt: skip
    assert behaviour.sent(".zip") == sent  # those that are there stay


def test_a_server_that_sends_whole_files_only_is_one_line(root: Path, tmp_path: Path) -> None:
    with (
        http_server(root, Behaviour(ranges=False)) as url,
        pytest.raises(
            StorageError, match=r"sends whole files only; download it, and unzip in/noise\.bin to "
        ),
    ):
        fetch_members(f"{url}/all.zip", wanted(tmp_path / "out"))


def test_a_damaged_member_is_refused_and_not_kept(root: Path, tmp_path: Path) -> None:
    path = root / "all.zip"
    path.write_bytes(path.read_bytes().replace(NOISE[:99], NOISE[1:100]))
    with (
        http_server(root, Behaviour()) as url,
        pytest.raises(StorageError, match=r"in/noise\.bin is damaged"),
    ):
        fetch_members(f"{url}/all.zip", wanted(tmp_path / "out"))
    assert not list((tmp_path / "out").glob("*noise*"))


def test_a_part_of_another_file_is_refused(root: Path, tmp_path: Path) -> None:
    (root / "noise.bin").write_bytes(NOISE[:100])
    (tmp_path / ".noise.bin.part").write_bytes(bytes(101))  # larger than what the server has now
    with http_server(root, Behaviour()) as url:
        with pytest.raises(StorageError, match=r"changed while it was fetched; run the same command again"):
            fetch_files({tmp_path / "noise.bin": f"{url}/noise.bin"})
        fetch_files({tmp_path / "noise.bin": f"{url}/noise.bin"})
    assert (tmp_path / "noise.bin").read_bytes() == NOISE[:100]


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [("in/nowhere.jpg", None, "has no member in/nowhere.jpg"), ("in/text.txt", b"<html>", "must be a zip")],
)
def test_another_zip_is_one_line(
    root: Path, tmp_path: Path, name: str, content: bytes | None, message: str
) -> None:
    if content:
        (root / "all.zip").write_bytes(content)
    with http_server(root, Behaviour()) as url, pytest.raises(StorageError, match=message):
        fetch_members(f"{url}/all.zip", {tmp_path / "a": name})
