"""Processes of a launch: they wait for one another, and get what the main one has made."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
import torch

from benchmark.core.distributed import broadcast_from_main, copy_from_main, same_folder, wait_for_all

ROOT = Path(__file__).resolve().parents[3]


def test_a_single_process_neither_waits_nor_sends(tmp_path: Path) -> None:
    value, cpu = object(), torch.device("cpu")
    assert broadcast_from_main(value, cpu) is value
    wait_for_all(cpu)
    copy_from_main([tmp_path / "missing"], cpu)
    assert same_folder(cpu) == same_folder(cpu, tmp_path) == [0]
    assert not torch.distributed.is_initialized()


def launch(script: str, folder: Path, processes: int = 2) -> "subprocess.CompletedProcess[str]":
    """Run a script in several processes, with the cache in `folder`."""
    (folder / "script.py").write_text(script)
    command = [sys.executable, "-m", "torch.distributed.run", "--standalone", "--nproc-per-node"]
    environment = os.environ | {"PYTHONPATH": str(ROOT), "OMP_NUM_THREADS": "1", "CUDA_VISIBLE_DEVICES": ""}
    environment["XDG_CACHE_HOME"] = str(folder)
    return subprocess.run(
        [*command, str(processes), str(folder / "script.py")],
        env=environment, capture_output=True, text=True, timeout=300, check=False,
    )  # fmt: skip


COPIED = """
import os, sys, json, torch
import numpy as np
from pathlib import Path

rank, here = int(os.environ["RANK"]), Path(__file__).parent
os.environ["XDG_CACHE_HOME"] = str(here / str(rank % 2))  # ranks 0 and 2 share a cache, 1 and 3 another
from benchmark.core import distributed
from benchmark.core.paths import cache_folder

cpu, folder = torch.device("cpu"), cache_folder("trained")
distributed.CHUNK = 1000
files = [folder / name for name in ("changed", "empty", "large")]
sent = []
broadcast = distributed.broadcast_from_main
distributed.broadcast_from_main = lambda *given: sent.append(given[0]) or broadcast(*given)
folder.mkdir(parents=True, exist_ok=True)
if rank == 0:
    for file, data in zip(files, (b"new", b"", bytes(range(256)) * 10)):
        file.write_bytes(data)
if rank == 1:
    files[0].write_bytes(b"old")
line = {"rank": rank, "same": distributed.same_folder(cpu), "of a folder": distributed.same_folder(cpu, here)}
for name in ("first", "again"):
    sent.clear()
    distributed.copy_from_main(files, cpu)
    line[name] = len(sent)
line["sizes"] = [file.stat().st_size for file in files]
made = {"rows": np.arange(100_003), "nothing": []} if rank == 0 else None
got = distributed.broadcast_from_main(made, cpu)
line["broadcast"] = [int(got["rows"].sum()), got["nothing"]]
line["is whole"] = files[0].read_bytes() == b"new" and files[2].read_bytes() == bytes(range(256)) * 10
sys.stdout.write(json.dumps(line) + "\\n")
"""


@pytest.mark.slow
def test_files_are_copied_once_into_other_caches(tmp_path: Path) -> None:
    done = launch(COPIED, tmp_path, processes=4)
    assert done.returncode == 0, done.stderr[-3000:]
    lines = sorted((json.loads(line) for line in done.stdout.splitlines()), key=lambda line: line["rank"])
    assert [line.pop("same") for line in lines] == [[0, 2], [1, 3], [0, 2], [1, 3]]
    # The chunks of three files, the second empty, are received by one process per cache.
    assert [line.pop("first") for line in lines] == [4, 4, 0, 0]
    same = {"of a folder": [0, 1, 2, 3], "again": 0, "sizes": [3, 0, 2560], "is whole": True}
    same["broadcast"] = [100_003 * 100_002 // 2, []]
    assert lines == [{"rank": rank, **same} for rank in range(4)]
