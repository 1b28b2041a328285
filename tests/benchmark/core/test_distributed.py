"""Processes of a launch: they wait for one another, and map the arrays that the main one has made."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
import torch

from benchmark.core.distributed import main_process_first, shared_by_main, wait_for_all

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
import numpy as np, pyarrow as pa
from pathlib import Path
from benchmark.core.launch import is_main_process
from benchmark.core.paths import cache_folder
from benchmark.core.distributed import shared_by_main

cpu = torch.device("cpu")
made = None
if is_main_process():
    made = {"rows": np.arange(100_003), "texts": pa.array(["a", "bc"]), "odd": np.ones(3, bool), "name": "n"}
files = lambda: len(list(cache_folder("launches").iterdir()))
with shared_by_main(made, cpu) as got:
    line = {
        "main": is_main_process(),
        "sum": int(got["rows"].sum()),
        "texts": got["texts"].to_pylist() + [got["name"], got["odd"].tolist()],
        "writable": got["rows"].flags.writeable,
        "mapped": "launches" in Path("/proc/self/maps").read_text(),
        "files": files() if is_main_process() else 1,
    }
with shared_by_main([] if is_main_process() else None, cpu) as nothing:
    line["nothing"] = nothing
line["left"] = files() if is_main_process() else 0
sys.stdout.write(json.dumps(line) + "\\n")
"""


def test_a_single_process_does_not_wait() -> None:
    with main_process_first(torch.device("cpu")):
        assert not torch.distributed.is_initialized()
    wait_for_all(torch.device("cpu"))
    assert not torch.distributed.is_initialized()


def test_without_a_launch_the_value_is_itself() -> None:
    value = object()
    with shared_by_main(value, torch.device("cpu")) as got:
        assert got is value


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
def test_two_processes_share_arrays(tmp_path: Path) -> None:
    done = launch(SHARED, tmp_path)
    assert done.returncode == 0, done.stderr[-3000:]
    lines = sorted((json.loads(line) for line in done.stdout.splitlines()), key=lambda line: line["main"])
    other, main = lines
    shared = {
        "sum": 100_003 * 100_002 // 2,
        "texts": ["a", "bc", "n", [True, True, True]],
        "nothing": [],
        "left": 0,
    }
    assert main == shared | {"main": True, "writable": True, "mapped": False, "files": 1}
    assert other == shared | {"main": False, "writable": False, "mapped": True, "files": 1}


WITHOUT_A_SHARED_CACHE = """
import torch
from benchmark.core.launch import is_main_process
from benchmark.core.distributed import _mapped, require_shared_cache
from benchmark.core import distributed

if not is_main_process():  # as on a node that does not see the main process's disk
    distributed._mapped = lambda path, sizes: _mapped(path.parent / "another disk" / path.name, sizes)
require_shared_cache(torch.device("cpu"))
"""


@pytest.mark.slow
def test_a_node_that_does_not_see_the_cache_says_so(tmp_path: Path) -> None:
    done = launch(WITHOUT_A_SHARED_CACHE, tmp_path)
    assert done.returncode == 1
    assert "must be seen by all its nodes; set XDG_CACHE_HOME" in done.stderr
