"""Ctrl-C and SIGTERM to a separate process with workers."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tests.pools import rows, write_pool

pytestmark = pytest.mark.slow
ROOT = Path(__file__).resolve().parents[2]
SLOW_FILTER = """
import time
import numpy as np
from filters.base import Filter

class Slow(Filter):
    needs = frozenset({"text"})

    def __init__(self, seconds):
        self.seconds = seconds

    def score(self, batch):
        time.sleep(self.seconds)
        return np.zeros(len(batch), np.float32)
"""
SLOW = [
    "task=select",
    "filter=random",
    "~filter.seed",
    "filter._target_=slow_filter.Slow",
    "+filter.seconds=600",
]


@pytest.mark.parametrize(
    ("number", "sizes", "to"),
    [
        (signal.SIGINT, "4,5", "all"),  # as a terminal sends Ctrl-C
        (signal.SIGTERM, "4", "all"),  # as timeout(1) and Slurm do
        (signal.SIGTERM, "4", "workers first"),
        (signal.SIGTERM, "4", "the command"),
    ],
)
def test_a_stopped_command_ends_with_its_workers(
    number: signal.Signals, sizes: str, to: str, tmp_path: Path
) -> None:
    pool = write_pool(tmp_path / "pool", [rows(5), rows(5, start=5), rows(5, start=10)])
    (tmp_path / "slow_filter.py").write_text(SLOW_FILTER)
    settings = ["pool=img2dataset", f"pool.url={pool}", f"size.samples={sizes}", "engine.workers=2"]
    process = subprocess.Popen(
        [sys.executable, "-m", "benchmark", *SLOW, *settings],
        cwd=tmp_path,
        env=os.environ | {"PYTHONPATH": str(ROOT)},
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    assert process.stderr is not None
    lines = []
    while "on 3 of 3 shards" not in (line := process.stderr.readline()):
        lines.append(line)
        assert process.poll() is None, lines
    time.sleep(1 if to != "workers first" else 4)  # the workers are starting, or at work
    if to == "all":
        os.killpg(process.pid, number)
    else:
        if to == "workers first":
            for worker in set(running(process.pid, moments=1)) - {str(process.pid)}:
                os.kill(int(worker), number)
            time.sleep(0.3)
        process.send_signal(number)
    rest = process.stderr.read().splitlines()
    assert process.wait(30) == 128 + number
    assert rest == ["stopped; run the same command to go on"]
    assert not running(process.pid)


TESTS = """
import os
import time
from pathlib import Path

def sleep(job):
    Path("begun").touch()
    time.sleep(60)

def test_in_a_command(run):
    os.chdir(Path(__file__).parent)
    run("task=test_sleeping:sleep", "filter=random")

def test_after_it():
    time.sleep(60)
"""


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_pytest_is_stopped_while_a_test_runs_a_command(number: signal.Signals, tmp_path: Path) -> None:
    tests = tmp_path / "test_sleeping.py"
    tests.write_text(TESTS)
    process = subprocess.Popen(
        # The shell of a background job ignores Ctrl-C, and so would its children.
        ["env", "--default-signal=INT", sys.executable, "-m", "pytest", "-p", "tests.conftest", tests],
        cwd=ROOT,
        stdout=subprocess.PIPE,
        text=True,
    )
    while not (tmp_path / "begun").is_file():
        assert process.poll() is None
        time.sleep(0.1)
    process.send_signal(number)
    printed, _ = process.communicate(timeout=30)
    assert process.returncode == pytest.ExitCode.INTERRUPTED, printed
    assert "!! benchmark.cli.process.Stopped" in printed


def running(session: int, moments: int = 50) -> list[str]:
    """Return the processes of a session that still run after some moments."""
    for _ in range(moments):
        found = []
        for stat in Path("/proc").glob("[0-9]*/stat"):
            try:
                state, _, _, of_session, *_ = stat.read_text().rpartition(")")[2].split()
            except OSError:
                continue
            if int(of_session) == session and state != "Z":
                found.append(stat.parent.name)
        if not found:
            break
        time.sleep(0.1)
    return found
