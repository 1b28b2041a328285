"""`make demo` from an empty cache, measured once.

python -m pytest -m perf -s bench/test_whole_demo.py
"""

import shlex
import sys
from functools import partial
from pathlib import Path

import pytest

from bench.measured_once import measure_once
from bench.measurement import Usage, measure_command

pytestmark = pytest.mark.perf
OF_TESTS = ("OMP_NUM_THREADS", "OPENCV_FOR_THREADS_NUM", "TOKENIZERS_PARALLELISM")


def run_demo(results: Path, *settings: str) -> Usage:
    """Run the commands of `make demo`, the first with `settings`, and see that they left a result and its report."""
    benchmark = [sys.executable, "-m", "benchmark", f"results_dir={results}"]
    commands = [shlex.join(benchmark + of) for of in ([*settings], ["task=report"])]
    usage = measure_command("sh", "-c", " && ".join(commands))
    assert list(results.glob("demo-*.json"))
    assert (results / "report.html").is_file()
    return usage


def test_the_demo_from_an_empty_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in OF_TESTS:
        monkeypatch.delenv(name, raising=False)
    demo = partial(run_demo, tmp_path / "results", "filter=icc", "size=200k")
    measure_once("`make demo` from an empty cache", demo, "150 s")
