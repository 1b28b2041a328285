"""What a command costs before it says anything, beside ``import torch`` in the same run.

    python -m pytest -m perf -s tests/perf/test_first_line_speed.py

Processor seconds of fresh processes; the median of pairs, one process of either kind after the other.
"""

import resource
import statistics
import subprocess
import sys
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest

from benchmark.core.records import write_record
from tests.benchmark.report.made_results import result
from tests.command_line import Run
from tests.pools import rows, write_pool

pytestmark = pytest.mark.perf
PAIRS = 5
Commands = dict[str, tuple[list[str], float, float]]


def processor_seconds(arguments: Sequence[str]) -> float:
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run([sys.executable, *arguments], capture_output=True, check=False)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


@pytest.fixture
def commands(run: Run, tmp_path: Path) -> Commands:
    """Each command with its goal and its limit, as shares of torch's import; two goals are not reached yet."""
    pool, results = write_pool(tmp_path / "pool", [rows(2000)]), tmp_path / "results"
    for name in ("random", "clip", "icc"):
        for seed in (0, 1, 2):
            write_record(results, result(name, seed=seed))
    select = ["task=select", "pool=img2dataset", f"pool.url={pool}", "filter=random", "size.samples=500"]
    assert run(*select).returncode == 0  # leaves the scores in the cache
    return {
        "wrong filter": (["filter=iccc"], 0.2, 0.25),
        "cached selection": (select, 0.5, 0.7),
        "report": (["task=report", f"results_dir={results}"], 0.5, 1.2),
    }


def test_first_lines_beside_the_import_of_torch(
    commands: Commands, record_property: Callable[[str, object], None]
) -> None:
    missed = {}
    for name, (arguments, goal, limit) in commands.items():
        pairs = [
            (processor_seconds(["-m", "benchmark", *arguments]), processor_seconds(["-c", "import torch"]))
            for _ in range(PAIRS)
        ]
        seconds, ratio = (
            statistics.median(v) for v in ([own for own, _ in pairs], [o / t for o, t in pairs])
        )
        record_property(name, ratio)
        print(f"\n{name}: {seconds:.2f} s, {ratio:.2f} of torch's import (goal {goal})")
        if ratio > limit:
            missed[name] = ratio
    assert not missed
