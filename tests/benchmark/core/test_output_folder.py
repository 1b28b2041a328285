"""Remote folders worked on as copies; fsspec's memory stands for the storage, S3 does in tests/slow."""

from contextlib import ExitStack

import fsspec
import pytest

from benchmark.core import output_folder
from benchmark.core.errors import UserError
from benchmark.core.output_folder import local_copy, writable_folder
from benchmark.core.paths import cache_dir, cache_folder, portable_paths
from benchmark.core.storage import StorageError

URL = "memory://mirrored/results"


@pytest.fixture
def memory() -> fsspec.AbstractFileSystem:
    filesystem = fsspec.filesystem("memory")
    filesystem.store.clear()
    filesystem.pipe("/mirrored/results/a/old.json", b"old")
    filesystem.pipe("/mirrored/results/kept.json", b"kept")
    return filesystem


def test_what_is_written_is_uploaded(
    memory: fsspec.AbstractFileSystem, monkeypatch: pytest.MonkeyPatch
) -> None:
    with writable_folder(URL) as folder:
        assert sorted(path.name for path in folder.rglob("*.json")) == ["kept.json", "old.json"]
        (folder / "a" / "old.json").write_text("changed")
        (folder / "new.json").write_text("new")
        (folder / ".half").write_text("half")
        assert portable_paths(f"see {folder}/new.json.") == f"see {URL}/new.json."
    assert not folder.exists()
    assert memory.cat("/mirrored/results/a/old.json") == b"changed"
    assert memory.cat("/mirrored/results/new.json") == b"new"
    assert not memory.exists("/mirrored/results/.half")
    monkeypatch.setattr(output_folder, "upload", None)  # would fail if it were called
    with writable_folder(URL), local_copy(URL, 0) as folder:
        assert sorted(path.name for path in folder.iterdir()) == ["kept.json", "new.json"]


def test_a_failed_run_uploads_what_it_has_written(memory: fsspec.AbstractFileSystem) -> None:
    run = ExitStack()
    folder = run.enter_context(writable_folder(URL))
    (folder / "log.txt").write_text("1")
    with pytest.raises(ZeroDivisionError), run:
        raise ZeroDivisionError
    assert memory.exists("/mirrored/results/log.txt")


def test_a_failed_upload_keeps_the_files(
    memory: fsspec.AbstractFileSystem, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: object) -> None:
        raise StorageError(f"{URL}: access is denied")

    monkeypatch.setattr(output_folder, "upload", refuse)
    with (
        pytest.raises(UserError, match=rf"denied; copy the 1 new files from .* to {URL} yourself"),
        writable_folder(URL) as folder,
    ):
        (folder / "result.json").write_text("1")
    assert [path.read_text() for path in cache_folder("kept_results").glob("*/result.json")] == ["1"]


def test_results_are_not_written_to_web_servers_nor_the_cache_elsewhere(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    with pytest.raises(UserError, match="HTTP servers are only read from"), writable_folder("https://host/a"):
        pass
    monkeypatch.setenv("XDG_CACHE_HOME", "s3://bucket/cache")
    with pytest.raises(UserError, match="XDG_CACHE_HOME=s3://bucket/cache must be a folder of this machine"):
        cache_dir()
