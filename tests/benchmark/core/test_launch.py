"""Processes of a launch: one goes first, the others wait for what it makes."""

import os
import subprocess
import sys
from pathlib import Path

import pytest
import torch

from benchmark.core.distributed import main_process_first, wait_for_all
from benchmark.core.launch import is_main_process

ROOT = Path(__file__).resolve().parents[3]
SCRIPT = """
import sys, time, torch
from pathlib import Path
from benchmark.core.launch import is_main_process
from benchmark.core.distributed import main_process_first, wait_for_all

made = Path(sys.argv[1])
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


def test_a_single_process_does_not_wait() -> None:
    assert is_main_process()
    with main_process_first(torch.device("cpu")):
        assert not torch.distributed.is_initialized()
    wait_for_all(torch.device("cpu"))
    assert not torch.distributed.is_initialized()


@pytest.mark.slow
def test_the_main_process_goes_first(tmp_path: Path) -> None:
    (tmp_path / "script.py").write_text(SCRIPT)
    command = [sys.executable, "-m", "torch.distributed.run", "--standalone", "--nproc-per-node", "2"]
    command += [str(tmp_path / "script.py"), str(tmp_path / "made")]
    environment = os.environ | {"PYTHONPATH": str(ROOT), "OMP_NUM_THREADS": "1", "CUDA_VISIBLE_DEVICES": ""}
    done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=300, check=False)
    assert done.returncode == 0, done.stderr[-3000:]
    assert sorted(done.stdout.splitlines()) == ["main found it: False", "other found it: True"]
