"""Remote folders worked on as copies; fsspec's memory stands for the storage, S3 does in tests/slow."""

from pathlib import Path

import fsspec
import pytest

from benchmark.core import mirror as module
from benchmark.core.errors import UserError
from benchmark.core.mirror import Mirror, writable_folder
from benchmark.core.paths import cache_dir, portable_paths
from benchmark.core.storage_errors import StorageError

URL = "memory://mirrored/results"


@pytest.fixture
def memory() -> fsspec.AbstractFileSystem:
    filesystem = fsspec.filesystem("memory")
    filesystem.store.clear()
    return filesystem


def test_files_come_and_go(memory: fsspec.AbstractFileSystem, monkeypatch: pytest.MonkeyPatch) -> None:
    memory.pipe("/mirrored/results/a/old.json", b"old")
    memory.pipe("/mirrored/results/gone.json", b"gone")
    with writable_folder(URL) as folder:
        assert sorted(path.name for path in folder.rglob("*.json")) == ["gone.json", "old.json"]
        (folder / "new.json").write_text("new")
        (folder / ".half").write_text("half")
        assert portable_paths(f"see {folder}/new.json.") == f"see {URL}/new.json."
    assert memory.cat("/mirrored/results/new.json") == b"new"
    assert not memory.exists("/mirrored/results/.half")
    memory.rm("/mirrored/results/gone.json")
    memory.pipe("/mirrored/results/a/old.json", b"changed elsewhere")
    folder = Mirror(URL).pull()
    assert not (folder / "gone.json").exists()
    assert (folder / "a" / "old.json").read_text() == "changed elsewhere"
    monkeypatch.setattr(module, "download", None)  # would fail if it were called
    monkeypatch.setattr(module, "upload", None)
    with writable_folder(URL):
        pass


def test_what_a_failed_run_leaves_is_uploaded_by_the_next(
    memory: fsspec.AbstractFileSystem, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: object) -> None:
        raise StorageError(f"{URL}: access is denied")

    def run(name: str, error: type[Exception] | None = None) -> None:
        with writable_folder(URL) as folder:
            (folder / name).write_text("1")
            if error:
                raise error

    with monkeypatch.context() as patch:
        patch.setattr(module, "upload", refuse)
        with pytest.raises(UserError, match=r"denied; 1 files wait in .* uploads them"):
            run("result.json")
    with pytest.raises(ZeroDivisionError):
        run("half.json", ZeroDivisionError)
    assert memory.cat("/mirrored/results/result.json") == b"1"
    assert not memory.exists("/mirrored/results/half.json")
    Mirror(URL).pull()
    assert memory.cat("/mirrored/results/half.json") == b"1"


def test_a_local_folder_is_itself(tmp_path: Path) -> None:
    with writable_folder(str(tmp_path)) as folder:
        assert folder == tmp_path


def test_a_web_server_is_refused_before_anything_runs() -> None:
    with (
        pytest.raises(UserError, match="HTTP servers are only read from"),
        writable_folder("https://host/results"),
    ):
        pass


def test_the_cache_is_on_this_machine(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", "s3://bucket/cache")
    with pytest.raises(UserError, match="XDG_CACHE_HOME=s3://bucket/cache must be a folder of this machine"):
        cache_dir()
