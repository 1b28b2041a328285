"""Cost of a command until its first line, compared with the import of torch, in separate processes.

python -m pytest -m perf -s bench/test_first_line_speed.py
"""

import sys
from functools import partial
from pathlib import Path

import pytest

from bench.measurement import compare, measure_command
from benchmark.core.records import write_record
from tests.benchmark.results.report.made_results import result
from tests.command_line import Run
from tests.pools import rows, write_pool

pytestmark = pytest.mark.perf
PAIRS = 2000


def seconds_beside_torch(work: str, arguments: list[str], goal: float | None = None) -> float:
    """Return the processor seconds of a command, divided by the seconds of ``import torch``."""
    command = partial(measure_command, sys.executable, "-m", "benchmark", *arguments)
    reference = partial(measure_command, sys.executable, "-c", "import torch")
    return compare(work, command, "import torch", reference, goal).cpu_ratio


def test_a_misspelt_filter() -> None:
    assert seconds_beside_torch("answer a misspelt filter", ["filter=iccc"], 0.2) < 0.25


def test_a_selection_from_cached_scores(run: Run, tmp_path: Path) -> None:
    pool = write_pool(tmp_path / "pool", [rows(PAIRS)])
    select = ["task=select", "pool=img2dataset", f"pool.url={pool}", "filter=random", "size.samples=500"]
    assert run(*select).returncode == 0  # leaves the scores in the cache
    assert seconds_beside_torch(f"select 500 of {PAIRS:,} pairs, scores cached", select, 0.5) < 0.8


def test_a_plan_of_a_whole_run(tmp_path: Path) -> None:
    plan = ["filter=icc", "size=200k", "plan=true", f"results_dir={tmp_path}"]
    # It looks for all that the run needs and reads 90 results; with torch it took nearly twice of it.
    assert seconds_beside_torch("plan of a whole run on the demo", plan) < 1.5


def test_a_report(tmp_path: Path) -> None:
    for name in ("random", "clip", "icc"):
        for seed in (0, 1, 2):
            write_record(tmp_path, result(name, seed=seed))
    report = ["task=report", f"results_dir={tmp_path}"]
    assert seconds_beside_torch("report of 9 results", report, 0.5) < 1
