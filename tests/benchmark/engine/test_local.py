"""The engine of one machine: what its workers return, and what happens when they cannot start or go on."""

import importlib
import os
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from benchmark.core.errors import UserError
from benchmark.core.usage import helpers_peak_rss_bytes
from benchmark.engine import local, workers
from benchmark.engine.local import LocalEngine
from benchmark.engine.workers import WORKER_RUNS
from benchmark.results.stopwatch import Stopwatch
from tests.benchmark.engine.squares import Square, fail, panic, refuse

ROOT = Path(__file__).resolve().parents[3]
SCRIPT = """
import os, sys, time
from pathlib import Path
from benchmark.engine.local import LocalEngine

class Endless:
    light = False

    def setup(self, device):
        Path(sys.argv[1], f"{os.getpid()}.pid").touch()

    def __call__(self, piece):
        time.sleep(600)

if __name__ == "__main__":
    list(LocalEngine("cpu", 2).run(Endless(), range(8)))
"""
FRAGILE = """
import multiprocessing
from tests.benchmark.engine.squares import Square

class Fragile(Square): ...

if multiprocessing.parent_process() is not None:
    raise RuntimeError("a library is missing here")
"""


@pytest.mark.parametrize(("count", "light"), [(1, False), (2, True)])
def test_one_worker_and_light_work_start_no_process(count: int, light: bool) -> None:
    runs = len(WORKER_RUNS)
    done = list(LocalEngine("cpu", count).run(Square(light=light), range(6)))
    assert [(square, pid) for square, pid, *_ in done] == [(n * n, os.getpid()) for n in range(6)]
    assert len(WORKER_RUNS) == runs


def test_the_piece_of_a_dead_worker_is_tried_again(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "another"))  # than the fork server's
    monkeypatch.setattr(local, "available_cores", lambda: 3)
    monkeypatch.setattr(workers, "SIGNAL_SECONDS", 0.1)
    work = Square(breaks_at=1, folder=tmp_path)
    done = list(LocalEngine("cpu", 2).run(work, range(4)))
    assert sorted(square for square, *_ in done) == [0, 1, 4, 9]
    assert os.getpid() not in {pid for _, pid, *_ in done}
    assert {(blas, cache) for *_, blas, cache in done} == {("1", str(tmp_path / "another"))}
    assert [work.attempts(piece) for piece in range(4)] == [1, 2, 1, 1]
    assert caplog.messages == ["a worker died at piece 2 of 4 (its process was killed): try 2 of 3"]
    assert WORKER_RUNS[-1].processor_seconds > 0


@pytest.mark.parametrize(
    ("wrong", "at", "count", "kind", "message"),
    [
        (refuse, "setup", 1, UserError, "^no such model$"),
        (refuse, "setup", 2, UserError, "^no such model$"),
        (fail, 1, 1, KeyError, "wrong"),
        (fail, 1, 2, KeyError, "wrong"),
        (panic, 1, 2, UserError, "Cannot parse precompiled_charsmap"),
    ],
)
def test_the_first_error_ends_the_run(
    tmp_path: Path, wrong: Callable[[], Any], at: int | str, count: int, kind: type[Exception], message: str
) -> None:
    work = Square(at, wrong, tmp_path)
    with pytest.raises(kind, match=message) as raised:
        list(LocalEngine("cpu", count).run(work, range(50)))
    assert 1 <= work.attempts(at) <= (count if at == "setup" else 1)
    assert work.attempts(49) == 0 or wrong is panic  # whose backtrace takes longer than all pieces
    if count == 2 and wrong is fail:
        assert "in fail" in str(raised.value.__cause__), "the worker's traceback"


def test_a_module_that_a_worker_cannot_import_is_the_error(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "fragile.py").write_text(FRAGILE)
    monkeypatch.syspath_prepend(str(tmp_path))
    work = importlib.import_module("fragile").Fragile()
    with pytest.raises(RuntimeError, match="a library is missing here"):
        list(LocalEngine("cpu", 2).run(work, range(4)))


class Busy:
    """Keeps a processor busy, and holds memory."""

    light = False

    def setup(self, device: str) -> None: ...

    def __call__(self, seconds: float) -> int:
        held = bytearray(os.urandom(1)) * 100_000_000
        end = time.process_time() + seconds
        while time.process_time() < end:
            pass
        return len(held)


@pytest.mark.slow
def test_stages_count_the_workers_of_engines() -> None:
    watch = Stopwatch("cpu")
    with watch.stage("select"):
        assert list(LocalEngine("cpu", 2).run(Busy(), [0.2, 0.2])) == [100_000_000] * 2
    with watch.stage("rest"):
        pass
    stage = watch.stages["select"]
    assert 0.4 < stage.cpu_seconds == stage.device_seconds
    assert watch.stages["rest"].cpu_seconds < 0.2
    assert 200_000_000 < watch.workers_peak_rss_bytes < 10_000_000_000
    later = Stopwatch("cpu")  # of another run in the same process
    assert later.workers_peak_rss_bytes == helpers_peak_rss_bytes()


@pytest.mark.slow
def test_workers_end_with_a_killed_parent(tmp_path: Path) -> None:
    script = tmp_path / "script.py"
    script.write_text(SCRIPT)
    environment = os.environ | {"PYTHONPATH": str(ROOT)}
    parent = subprocess.Popen([sys.executable, str(script), str(tmp_path)], env=environment)
    wait_until(lambda: len(list(tmp_path.glob("*.pid"))) == 2)
    parent.kill()
    parent.wait()
    workers = [int(path.stem) for path in tmp_path.glob("*.pid")]
    wait_until(lambda: not any(map(is_running, workers)))


def wait_until(holds: Callable[[], bool]) -> None:
    end = time.monotonic() + 60
    while not holds():
        assert time.monotonic() < end
        time.sleep(0.05)


def is_running(pid: int) -> bool:
    try:
        state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except FileNotFoundError:
        return False
    return state != "Z"  # dead, but nobody has asked for its exit status
