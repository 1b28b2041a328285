"""A folder of many results, and the report on it."""

import json
import shutil
from pathlib import Path

from bench.measurement import ROOT
from tests.command_line import run_main

FILTERS = ("random", "clip", "icc", "oracle")


def write_results(folder: str, results: int) -> None:
    """Write copies of the reference's results by four filters, with other seeds, and the files of their folders."""
    for number in range(results):
        seed, name = number // len(FILTERS), FILTERS[number % len(FILTERS)]
        (source,) = (ROOT / "results" / "reference").glob(f"demo-{name}-200k-seed1-*.json")
        run_id = f"demo-{name}-200k-seed{seed}"
        changed = json.loads(source.read_text()) | {"run_id": run_id, "seed": seed}
        Path(folder, f"{run_id}.json").write_text(json.dumps(changed))
        shutil.copytree(source.with_suffix(""), Path(folder, run_id))


def report(folder: str) -> None:
    assert run_main("task=report", f"results_dir={folder}") == 0
