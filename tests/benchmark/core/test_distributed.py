"""Processes of a launch: they wait for one another, and get what the main one has made."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
import torch

from benchmark.core.distributed import broadcast_from_main, main_process_first, wait_for_all

ROOT = Path(__file__).resolve().parents[3]
MAIN_FIRST = """
import sys, time, torch
from pathlib import Path
from benchmark.core.launch import is_main_process
from benchmark.core.distributed import main_process_first, wait_for_all

made = Path(__file__).with_name("made")
cpu = torch.device("cpu")
with main_process_first(cpu):
    found = made.exists()
    if is_main_process():
        time.sleep(2)
        made.touch()
sys.stdout.write(f"{'main' if is_main_process() else 'other'} found it: {found}\\n")
sys.stdout.flush()
wait_for_all(cpu)
"""
SHARED = """
import sys, json, torch
import numpy as np
from benchmark.core.distributed import broadcast_from_main
from benchmark.core.launch import is_main_process

cpu = torch.device("cpu")
made = {"rows": np.arange(100_003), "name": "n"} if is_main_process() else None
got, nothing = broadcast_from_main(made, cpu), broadcast_from_main([] if is_main_process() else None, cpu)
line = {"main": is_main_process(), "sum": int(got["rows"].sum()), "name": got["name"], "nothing": nothing}
sys.stdout.write(json.dumps(line) + "\\n")
"""


def test_a_single_process_neither_waits_nor_sends() -> None:
    value, cpu = object(), torch.device("cpu")
    with main_process_first(cpu):
        assert broadcast_from_main(value, cpu) is value
    wait_for_all(cpu)
    assert not torch.distributed.is_initialized()


def launch(script: str, folder: Path) -> "subprocess.CompletedProcess[str]":
    """Run a script in two processes, with the cache in `folder`."""
    (folder / "script.py").write_text(script)
    command = [sys.executable, "-m", "torch.distributed.run", "--standalone", "--nproc-per-node", "2"]
    environment = os.environ | {"PYTHONPATH": str(ROOT), "OMP_NUM_THREADS": "1", "CUDA_VISIBLE_DEVICES": ""}
    environment["XDG_CACHE_HOME"] = str(folder)
    return subprocess.run(
        [*command, str(folder / "script.py")],
        env=environment, capture_output=True, text=True, timeout=300, check=False,
    )  # fmt: skip


@pytest.mark.slow
def test_the_main_process_goes_first(tmp_path: Path) -> None:
    done = launch(MAIN_FIRST, tmp_path)
    assert done.returncode == 0, done.stderr[-3000:]
    assert sorted(done.stdout.splitlines()) == ["main found it: False", "other found it: True"]


@pytest.mark.slow
def test_both_processes_have_what_the_main_one_made(tmp_path: Path) -> None:
    done = launch(SHARED, tmp_path)
    assert done.returncode == 0, done.stderr[-3000:]
    lines = sorted((json.loads(line) for line in done.stdout.splitlines()), key=lambda line: line["main"])
    same = {"sum": 100_003 * 100_002 // 2, "name": "n", "nothing": []}
    assert lines == [same | {"main": False}, same | {"main": True}]


WITHOUT_A_SHARED_CACHE = """
import torch
from benchmark.core import distributed
from benchmark.core.launch import is_main_process

if not is_main_process():  # as on a node that does not see the main process's disk
    broadcast = distributed.broadcast_from_main
    distributed.broadcast_from_main = lambda *args: broadcast(*args) / "another disk"
distributed.require_shared_cache(torch.device("cpu"))
"""


@pytest.mark.slow
def test_a_node_that_does_not_see_the_cache_says_so(tmp_path: Path) -> None:
    done = launch(WITHOUT_A_SHARED_CACHE, tmp_path)
    assert done.returncode == 1
    assert "must be seen by all its nodes; set XDG_CACHE_HOME" in done.stderr
