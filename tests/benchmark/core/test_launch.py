"""The cores of a process of a launch: its part of the machine's, whatever the number of threads."""

import os
import signal
import subprocess
import sys

import pytest

from benchmark.core import launch
from benchmark.core.launch import ctrl_c_left_to_parent, is_first_to_end, own_cores, take_cores


@pytest.mark.parametrize(("processes", "share"), [(None, 16), (4, 4), (32, 1)])
def test_processes_of_a_launch_share_the_cores(
    processes: int | None, share: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(launch, "_given_cores", None)
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: set(range(16)))
    monkeypatch.setenv("OMP_NUM_THREADS", "1")  # as torchrun does
    if processes:
        monkeypatch.setenv("LOCAL_WORLD_SIZE", str(processes))
    assert own_cores() == share
    monkeypatch.setattr(launch, "torch_distributed", None)  # torch is not imported to be asked
    assert is_first_to_end()  # without others this process says why it ends


def test_a_worker_has_the_cores_that_its_engine_gave_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(launch, "_given_cores", None)
    monkeypatch.setattr(os, "environ", dict(os.environ))
    monkeypatch.setitem(launch.sys.modules, "torch", None)
    take_cores(3)
    assert own_cores() == 3
    assert os.environ["OMP_NUM_THREADS"] == os.environ["OPENBLAS_NUM_THREADS"] == "3"


def test_ctrl_c_while_workers_start_reaches_only_the_parent() -> None:
    child = [sys.executable, "-c", "import signal; signal.raise_signal(signal.SIGINT); print('lives')"]
    got: list[int] = []
    before = signal.signal(signal.SIGINT, lambda number, _: got.append(number))
    try:
        with ctrl_c_left_to_parent():
            signal.raise_signal(signal.SIGINT)
            printed = subprocess.run(child, capture_output=True, text=True).stdout
            assert not got
    finally:
        signal.signal(signal.SIGINT, before)
    assert (printed, got) == ("lives\n", [signal.SIGINT])
