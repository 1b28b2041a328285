"""Locks among processes: one makes what several want, the others find it made."""

import errno
import fcntl
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import nullcontext
from pathlib import Path

import pytest

from benchmark.core.locks import locked
from benchmark.engine.local import LocalEngine
from benchmark.pool.pool import Pool
from benchmark.scoring.score_pool import score_pool
from filters.random import Random
from tests.pools import rows, write_pool


def test_the_second_process_waits_and_logs_it(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    order, held = [], threading.Event()

    def first() -> None:
        with locked(tmp_path / "made"):
            held.set()
            time.sleep(0.1)
            order.append("first")

    with ThreadPoolExecutor() as threads, caplog.at_level("INFO", "benchmark"):
        done = threads.submit(first)
        held.wait()
        with locked(tmp_path / "something else"):
            order.append("other")
        with locked(tmp_path / "made"):
            order.append("second")
        done.result()
    assert order == ["other", "first", "second"]
    assert caplog.messages == [f"waiting for another process, which is making {tmp_path / 'made'}"]


def refuse(monkeypatch: pytest.MonkeyPatch, error: str) -> None:
    def flock(*_: object) -> None:
        raise OSError(getattr(errno, error), error)

    monkeypatch.setattr(fcntl, "flock", flock)


@pytest.mark.parametrize("error", ["ENOSYS", "ENOLCK"])
def test_on_a_file_system_without_locks_nothing_is_held(
    error: str, cache: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    refuse(monkeypatch, error)
    with locked(tmp_path / "made"), locked(tmp_path / "made"):
        pass  # the second one would wait for a marker, as would the next run if this one were killed
    assert not any(path.read_bytes() for path in cache.rglob("*.lock"))


@pytest.mark.parametrize(("error", "reads"), [("EROFS", True), ("EPERM", True), ("EIO", False)])
def test_in_a_read_only_cache_only_what_is_there_is_read(
    error: str, reads: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    refuse(monkeypatch, error)
    (tmp_path / "there").touch()
    with nullcontext() if reads else pytest.raises(OSError, match=error), locked(tmp_path / "there"):
        pass
    with pytest.raises(OSError, match=f"{error}.*missing"), locked(tmp_path / "missing"):
        pass


def test_two_runs_at_once_score_each_shard_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pool = Pool("p", str(write_pool(tmp_path / "pool", [rows(3, start=3 * i) for i in range(4)])))
    score, asked = Random.score, []
    monkeypatch.setattr(Random, "score", lambda *given: asked.append(time.sleep(0.05)) or score(*given))
    with ThreadPoolExecutor() as threads:
        runs = [threads.submit(score_pool, pool, Random(), LocalEngine("cpu", 1)) for _ in range(3)]
    assert [len(run.result()) for run in runs] == [12] * 3
    assert len(asked) == 4
