"""The engine of one machine: what its workers return, and what happens when they cannot start or go on."""

import importlib
import multiprocessing
import os
import pickle
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

import pytest
from tokenizers import Tokenizer

from benchmark.core.errors import UserError
from benchmark.core.paths import cache_dir
from benchmark.core.usage import helpers_peak_rss_bytes
from benchmark.engine.local import LocalEngine, _serve
from benchmark.engine.workers import WORKER_RUNS
from benchmark.results.stopwatch import Stopwatch

ROOT = Path(__file__).resolve().parents[3]
PANIC = '{"normalizer": {"type": "Precompiled", "precompiled_charsmap": "AAAA"}}'
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

# The work's module, imported in a worker only with the work: what threads numpy's BLAS will have, and torch's.
THREADS_OF_LIBRARIES = """
import os
BLAS = os.environ.get("OPENBLAS_NUM_THREADS")

class Counted:
    light = False

    def setup(self, device):
        pass

    def __call__(self, library):
        if library == "numpy":
            return BLAS
        import torch
        return torch.get_num_threads()
"""
RUN_IT = """
import sys
from benchmark.engine import local
if __name__ == "__main__":
    from counted import Counted
    local.available_cores = lambda: 3
    print(list(local.LocalEngine("cpu", 2).run(Counted(), sys.argv[1:])))
"""


@dataclass
class Square:
    """Squares numbers, but for the one that it breaks at; starts only when it may."""

    starts: bool = True
    breaks_at: int = -1
    light: bool = False

    def setup(self, device: str) -> None:
        """Load nothing."""
        if not self.starts:
            raise UserError("no such model")

    def __call__(self, piece: int) -> tuple[int, int]:
        """Return the square of `piece`, and who made it."""
        if piece == self.breaks_at:
            raise ZeroDivisionError(f"at {piece}")
        return piece * piece, os.getpid()


@pytest.mark.parametrize("workers", [1, pytest.param(2, marks=pytest.mark.slow)])
def test_every_piece_is_worked_on_once(workers: int) -> None:
    done = list(LocalEngine("cpu", workers).run(Square(), range(6)))
    assert sorted(square for square, _ in done) == [0, 1, 4, 9, 16, 25]
    assert ({pid for _, pid in done} == {os.getpid()}) == (workers == 1)


@pytest.mark.parametrize(
    ("library", "threads"), [("numpy", "1"), pytest.param("torch", 1, marks=pytest.mark.slow)]
)
def test_libraries_imported_in_a_worker_have_its_cores(
    library: str, threads: int | str, tmp_path: Path
) -> None:
    (tmp_path / "counted.py").write_text(THREADS_OF_LIBRARIES)
    (tmp_path / "run_it.py").write_text(RUN_IT)
    of_tests = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")
    environment = {name: value for name, value in os.environ.items() if name not in of_tests}
    command = [sys.executable, str(tmp_path / "run_it.py"), library, library]
    done = subprocess.run(
        command, env=environment | {"PYTHONPATH": str(ROOT)}, capture_output=True, text=True, check=True
    )
    assert done.stdout == f"{[threads, threads]}\n"


class Busy:
    """Keeps a processor busy, and holds memory."""

    light = False

    def setup(self, device: str) -> None:
        """Load nothing."""

    def __call__(self, seconds: float) -> int:
        """Return the bytes that were held."""
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
    assert 0.4 < stage.worker_cpu_seconds <= stage.cpu_seconds == stage.device_seconds
    assert watch.stages["rest"].worker_cpu_seconds == 0
    assert 200_000_000 < watch.workers_peak_rss_bytes < 10_000_000_000
    later = Stopwatch("cpu")  # of another run in the same process
    assert later.workers_peak_rss_bytes == helpers_peak_rss_bytes()


def test_work_in_this_process_is_counted_once() -> None:
    runs, watch = len(WORKER_RUNS), Stopwatch("cpu")
    with watch.stage("select"):
        list(LocalEngine("cpu", 1).run(Busy(), [0.1]))
    assert len(WORKER_RUNS) == runs
    assert 0.1 <= watch.stages["select"].cpu_seconds < 0.3


def test_light_work_starts_no_process() -> None:
    assert {pid for _, pid in LocalEngine("cpu", 2).run(Square(light=True), range(6))} == {os.getpid()}


@pytest.mark.parametrize("workers", [1, 2])
def test_an_error_in_setup_reaches_the_caller(workers: int) -> None:
    with pytest.raises(UserError, match=r"^no such model$"):
        list(LocalEngine("cpu", workers).run(Square(starts=False), range(4)))


FRAGILE = """
import multiprocessing

if multiprocessing.parent_process() is not None:
    raise RuntimeError("a library is missing here")


class Fragile:
    light = False

    def setup(self, device):
        pass

    def __call__(self, piece):
        return piece
"""


def test_a_module_that_a_worker_cannot_import_is_the_error(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "fragile.py").write_text(FRAGILE)
    monkeypatch.syspath_prepend(str(tmp_path))
    work = importlib.import_module("fragile").Fragile()
    with pytest.raises(RuntimeError, match="a library is missing here"):
        list(LocalEngine("cpu", 2).run(work, range(4)))


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


@pytest.mark.parametrize("workers", [1, 2])
def test_the_first_error_ends_the_run(workers: int) -> None:
    with pytest.raises(ZeroDivisionError, match="at 3"):
        list(LocalEngine("cpu", workers).run(Square(breaks_at=3), range(50)))


@dataclass
class Panicking:
    """Work in which a tokenizer panics."""

    light: bool = False

    def setup(self, device: str) -> None: ...

    def __call__(self, number: int) -> None:
        Tokenizer.from_str(PANIC)


def test_a_panic_of_a_library_ends_the_run_with_its_reason() -> None:
    with pytest.raises(UserError, match="Cannot parse precompiled_charsmap"):
        list(LocalEngine("cpu", 2).run(Panicking(), range(4)))


@dataclass
class Deadly:
    """Kills its worker at one piece, or at its start, as often as `deaths` says; a file per attempt counts."""

    folder: Path
    deaths: int
    at: str
    light: bool = False

    def setup(self, device: str) -> None:
        """Die, perhaps."""
        self.attempt("setup")

    def __call__(self, piece: Path) -> str:
        """Return the name of the piece."""
        self.attempt(piece.name)
        if piece.name == "wrong":
            raise KeyError(piece.name)
        return piece.name

    def attempt(self, name: str) -> None:
        """Die at `at`, unless that has happened often enough."""
        earlier = self.attempts(name)
        (self.folder / f"{name}-{earlier}").touch()
        if name == self.at and earlier < self.deaths:
            os.kill(os.getpid(), signal.SIGKILL)

    def attempts(self, name: str) -> int:
        """Return how often a piece was begun."""
        return len(list(self.folder.glob(f"{name}-*")))


PIECES = [Path("a"), Path("b"), Path("c"), Path("d")]


def test_the_piece_of_a_dead_worker_is_tried_again(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    work = Deadly(tmp_path, deaths=1, at="b")
    assert sorted(LocalEngine("cpu", 2).run(work, PIECES)) == ["a", "b", "c", "d"]
    assert [work.attempts(piece.name) for piece in PIECES] == [1, 2, 1, 1]
    assert caplog.messages == ["a worker died at shard b (SIGKILL): try 2 of 3"]
    assert WORKER_RUNS[-1].processor_seconds > 0


def test_an_error_of_the_work_is_not_tried_again(tmp_path: Path) -> None:
    work = Deadly(tmp_path, deaths=0, at="")
    with pytest.raises(KeyError, match="wrong") as raised:
        list(LocalEngine("cpu", 2).run(work, [Path("a"), Path("wrong")]))
    assert work.attempts("wrong") == 1
    assert "raise KeyError(piece.name)" in str(raised.value.__cause__)


class CacheFolder:
    """Work that tells the cache folder of its worker."""

    light = False

    def setup(self, device: str) -> None:
        """Prepare nothing."""

    def __call__(self, piece: int) -> Path:
        """Return the folder."""
        return cache_dir()


def test_workers_have_the_cache_folder_of_their_command(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("one", "another"):  # the fork server is of the first
        monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / name))
        folders = set(LocalEngine("cpu", 2).run(CacheFolder(), [1, 2]))
        assert folders == {tmp_path / name / "pairsift"}


@pytest.mark.parametrize("during_setup", [True, False])
def test_a_worker_whose_command_has_ended_ends_without_an_error(during_setup: bool) -> None:
    of_command, of_worker = multiprocessing.Pipe()
    with ThreadPoolExecutor(1) as threads:
        if during_setup:
            of_command.close()
        served = threads.submit(
            _serve, of_worker, pickle.dumps(Square()), "cpu", 1, os.environ["XDG_CACHE_HOME"]
        )
        if not during_setup:
            of_command.recv()
            of_command.close()
        served.result()
