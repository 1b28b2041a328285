"""Locks among processes: one makes what several want, the others find it made."""

import errno
import fcntl
import subprocess
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest

from benchmark.core.batch import Batch
from benchmark.core.locks import locked
from benchmark.engine.local import LocalEngine
from benchmark.pool.pool import Pool
from benchmark.scoring.score_pool import score_pool
from filters.base import Filter, Scores
from tests.pools import rows, write_pool

ROOT = Path(__file__).resolve().parents[3]
HOLDER = """
import sys, time
from pathlib import Path
from benchmark.core.locks import locked

with locked(Path(sys.argv[1])):
    print("held", flush=True)
    time.sleep(600)
"""


def test_the_second_process_waits_and_logs_it(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    order, held = [], threading.Event()

    def first() -> None:
        with locked(tmp_path / "made"):
            held.set()
            time.sleep(0.3)
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


def test_a_killed_process_releases_its_lock(tmp_path: Path) -> None:
    command = [sys.executable, "-c", HOLDER, str(tmp_path / "made")]
    with subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, text=True) as holder:
        assert holder.stdout is not None
        assert holder.stdout.readline() == "held\n"
        holder.kill()
    started = time.monotonic()
    with locked(tmp_path / "made"):
        assert time.monotonic() - started < 5


@pytest.mark.parametrize("error", ["ENOSYS", "ENOLCK"])
def test_on_a_file_system_without_locks_nothing_is_held(
    error: str, cache: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def flock(*_: object) -> None:
        raise OSError(getattr(errno, error), "Function not implemented")

    monkeypatch.setattr(fcntl, "flock", flock)
    with locked(tmp_path / "made"), locked(tmp_path / "made"):
        pass  # the second one would wait for a marker, as would the next run if this one were killed
    assert not any(path.read_bytes() for path in cache.rglob("*.lock"))


def test_another_error_of_a_lock_is_raised(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def flock(*_: object) -> None:
        raise OSError(errno.EIO, "Input/output error")

    monkeypatch.setattr(fcntl, "flock", flock)
    with pytest.raises(OSError, match="Input/output"), locked(tmp_path / "made"):
        pass


class Slow(Filter):
    """Scores a shard in a tenth of a second, and counts how often it was asked."""

    needs = frozenset({"text"})
    asked = 0

    def score(self, batch: Batch) -> Scores:
        time.sleep(0.1)
        type(self).asked += 1
        return np.array([len(text) for text in batch.texts], np.float32)


def test_two_runs_at_once_score_each_shard_once(tmp_path: Path) -> None:
    pool = Pool("p", str(write_pool(tmp_path / "pool", [rows(3, start=3 * i) for i in range(4)])))
    Slow.asked = 0
    with ThreadPoolExecutor() as threads:
        runs = [threads.submit(score_pool, pool, Slow(), LocalEngine("cpu", 1)) for _ in range(3)]
    tables = [run.result() for run in runs]
    assert Slow.asked == 4
    assert all((table.scores == tables[0].scores).all() and len(table.uids) == 12 for table in tables)
