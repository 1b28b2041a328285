"""Runs that differ only in filter, size, budget and seed."""

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from benchmark.results.result import Result
from benchmark.results.stopwatch import Stage
from tests.benchmark.results.report.made_results import protocol
from tests.benchmark.results.report.made_run_folders import Folder

Means = Mapping[str, Mapping[int, float]]  # by filter and size
STAGES = {"select": Stage(1.0, 1.0, "cpu", 1.0), "evaluate/captioner": Stage(20.0, 20.0, "cpu", 20.0)}


def seeing(run: Result, samples: int, seconds: float) -> Result:
    """The run with a captioner that saw so many samples."""
    trained = run.downstream["captioner"]
    training = replace(trained.training, samples_seen=samples, seconds=seconds)
    return replace(run, downstream={"captioner": replace(trained, training=training)})


def family(
    path: Path, of_budgets: Mapping[int, Means], seeds: int = 3, metric: str = "CIDEr", **changes: Any
) -> Folder:
    """Runs with these mean values of a metric by budget, whose pool has the scale 100."""
    made = Folder(path, metric)
    for budget, of_filters in of_budgets.items():
        samples = budget // 100
        for name, of_sizes in of_filters.items():
            for size, mean in of_sizes.items():
                made.add(
                    name,
                    [mean + seed / 500 for seed in range(seeds)],
                    size=size,
                    protocol=protocol(size=size, **{"captioner.training.samples_seen": str(samples)}),
                    run_id=f"{name}-{size}-{budget}-",
                    config={"pool": {"scale": 100}},
                    overrides=[f"filter={name}", f"size={size}", f"budget={budget}"],
                    stages=STAGES,
                    **changes,
                )
                made.results[-seeds:] = [seeing(run, samples, samples / 10) for run in made.results[-seeds:]]
    return made
