"""A hundred times score, select and report in one process: memory and open files stop growing."""

import gc
import os
from pathlib import Path

import pytest

from benchmark.core.records import write_record
from tests.benchmark.results.report.made_results import result
from tests.command_line import run_main
from tests.pools import rows, write_pool

pytestmark = pytest.mark.full
ROUNDS = 100
PAIRS = 1000


def resources() -> tuple[int, int]:
    """Return the bytes of this process that are in memory, and the number of its open files."""
    gc.collect()
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE"), len(list(Path("/proc/self/fd").iterdir()))


def test_a_hundred_rounds_leak_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    pool = write_pool(tmp_path / "pool", [rows(PAIRS // 2), rows(PAIRS // 2, start=PAIRS // 2)])
    results = tmp_path / "results"
    for name in ("random", "icc"):
        write_record(results, result(name))
    select = ["task=select", "pool=img2dataset", f"pool.url={pool}", "filter=random", "size.samples=100"]
    seen = []
    for number in range(ROUNDS):
        assert run_main(*select, f"filter.seed={number}", "engine.workers=1") == 0
        assert run_main("task=report", f"results_dir={results}") == 0
        seen.append(resources())
    half, end = seen[ROUNDS // 2 - 1], seen[-1]
    print("resident bytes and open files:", half, end)
    assert end[0] <= 1.05 * half[0]
    assert end[1] <= half[1]
