"""Storage against a real HTTP server that does what servers on the web do wrong."""

from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from benchmark.core import storage
from benchmark.core.errors import UserError
from benchmark.core.storage import (
    StorageError,
    download,
    list_files,
    list_folder,
    open_file,
    read_ranges,
)
from tests.extras import hide_extra, needs_extra
from tests.servers import Behaviour, http_server

pytestmark = needs_extra("http")
DATA = bytes(range(256)) * 400


@pytest.fixture(autouse=True)
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(storage, "FIRST_WAIT", 0.01)
    monkeypatch.setattr(storage, "STALL_SECONDS", 0.15)
    monkeypatch.setattr(storage, "CHUNK", 20_000)


@pytest.fixture
def root(tmp_path: Path) -> Path:
    (tmp_path / "root" / "part-0").mkdir(parents=True)
    (tmp_path / "root" / "part-0" / "data.tar").write_bytes(DATA)
    return tmp_path / "root"


@pytest.mark.parametrize(
    "behaviour",
    [
        Behaviour(),
        Behaviour(ranges=False),
        Behaviour(busy=2),
        Behaviour(drops=3, stalls=1),
        Behaviour(ranges=False, busy=1, drops=1),
    ],
    ids=["ranges", "no ranges", "503", "dropped", "all of it"],
)
def test_a_file_arrives_whole(root: Path, tmp_path: Path, behaviour: Behaviour) -> None:
    with http_server(root, behaviour) as url:
        download(f"{url}/part-0/data.tar", tmp_path / "copy")
    assert (tmp_path / "copy").read_bytes() == DATA


def test_each_byte_is_sent_once(root: Path, tmp_path: Path) -> None:
    behaviour = Behaviour()
    with http_server(root, behaviour) as url:
        (tmp_path / "copy").write_bytes(DATA[:50_000])  # what a killed process has left
        download(f"{url}/part-0/data.tar", tmp_path / "copy")
        assert (tmp_path / "copy").read_bytes() == DATA
        assert behaviour.sent("data.tar") == len(DATA) - 50_000 + 1  # one byte asks whether there are ranges
        behaviour.gets.clear()
        parts = [(7, 9), (100, 30_000), (30_000, 30_001)]
        read = list(read_ranges(f"{url}/part-0/data.tar", parts))
    assert read == [DATA[start:end] for start, end in parts]
    assert sorted(start for _, start, _ in behaviour.gets) == [7, 100, 30_000]


def test_ranges_are_fetched_several_at_a_time(root: Path) -> None:
    behaviour = Behaviour(latency=0.02)
    with http_server(root, behaviour) as url:
        list(read_ranges(f"{url}/part-0/data.tar", ((n, n + 1) for n in range(32))))
    assert 1 < behaviour.most_at_once <= storage.CONNECTIONS


@pytest.mark.parametrize("ranges", [True, False])
def test_parquet_is_read_over_http(root: Path, ranges: bool) -> None:
    pq.write_table(pa.table({"n": range(1000)}), root / "a.parquet")
    behaviour = Behaviour(ranges=ranges, busy=1)
    with http_server(root, behaviour) as url, open_file(f"{url}/a.parquet") as file:
        assert pq.ParquetFile(file).read(["n"])["n"].to_pylist() == list(range(1000))
        if not ranges:  # the file was copied
            return
        behaviour.status = 503
        with pytest.raises(StorageError, match=r"a\.parquet: the server answered 503 \(5 attempts\)"):
            pq.ParquetFile(file)


def test_folders_are_listed(root: Path) -> None:
    (root / ".hidden.tar").touch()
    with http_server(root, Behaviour()) as url:
        assert [entry.name for entry in list_folder(url) if entry.is_folder] == ["part-0"]
        assert list(list_files(url, 1)) == ["part-0/data.tar"] == list(list_files(str(root), 1))
        assert list_folder(f"{url}/nowhere") == [] == list_folder(str(root / "nowhere"))


SERVED = {
    "access is denied (401); check the credentials": Behaviour(status=401),
    "access is denied (403); check the credentials": Behaviour(status=403),
    "there is no such file": Behaviour(status=404),
    "the server answered 500 (5 attempts)": Behaviour(status=500),
    "no answer in time": Behaviour(ranges=False, stalls=99),
}


@pytest.mark.parametrize("message", SERVED)
def test_refusals_are_one_line(root: Path, tmp_path: Path, message: str) -> None:
    with http_server(root, SERVED[message]) as url, pytest.raises(StorageError) as raised:
        download(f"{url}/part-0/data.tar", tmp_path / "copy")
    assert message in str(raised.value)
    assert "\n" not in str(raised.value)


@pytest.mark.parametrize(
    ("url", "hidden", "message"),
    [
        ("http://127.0.0.1:9/pool", "", "http://127.0.0.1:9/pool: the connection was refused"),
        ("http://no.such.host.invalid/pool", "", "invalid/pool: the host name cannot be resolved"),
        ("nothing://x", "", "nothing://x cannot be opened: Protocol not known"),
        ("https://host/pool", "http", r"\[http\]'"),
        ("s3://bucket/pool", "cloud", r"\[cloud\]'"),
    ],
)
def test_what_cannot_be_reached_is_one_line(
    url: str, hidden: str, message: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    if hidden:
        hide_extra(hidden, monkeypatch)
    with pytest.raises(UserError, match=message):
        list_folder(url)
