"""What earlier runs cost, scaled to this machine: the base of all estimates."""

import json
import statistics
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

from benchmark.core.paths import CHECKOUT, portable_paths
from benchmark.core.records import scan_records
from benchmark.results.provenance import machine
from benchmark.results.result import Result
from benchmark.results.stopwatch import Stage

REFERENCE = CHECKOUT / "results" / "reference"  # part of a checkout, not of the wheel


@dataclass(frozen=True)
class Cost:
    """Processor seconds (on a GPU: of its host), and seconds on the clock."""

    cpu: float
    wall: float

    def __add__(self, other: "Cost") -> "Cost":
        return Cost(self.cpu + other.cpu, self.wall + other.wall)

    def times(self, factor: float) -> "Cost":
        """Return the cost of so many times the work."""
        return Cost(self.cpu * factor, self.wall * factor)


NOTHING = Cost(0.0, 0.0)


class RecordedCosts:
    """The costs of earlier runs on a device of one type.

    They are those of `results` that were made on a machine like this one; if none fits, the reference results as they
    are, and `of_reference` is true from then on.

    Args:
        results: the folder that ``results_dir`` names.
        device: ``cpu`` or ``cuda``.
    """

    def __init__(self, results: Path, device: str) -> None:
        self.device = device
        own = [run for run in _runs(results) if run.machine == machine()]
        self.of_reference = False
        self._sources = [own]
        if device == "cpu" and results.resolve() != REFERENCE:
            self._sources.append(_runs(REFERENCE))

    def median(self, cost_of: Callable[[Result], Cost | None]) -> Cost | None:
        """Return the median of a cost over the runs that have it, None where none does."""
        for runs in self._sources:
            costs = [cost for run in runs if (cost := cost_of(run)) is not None]
            if costs:
                cpu = statistics.median(cost.cpu for cost in costs)
                wall = statistics.median(cost.wall for cost in costs)
                self.of_reference |= runs is not self._sources[0]
                return Cost(cpu, wall)
        return None

    def stage(self, run: Result, name: str) -> Cost | None:
        """Return what a stage of a run cost on a device of this type."""
        stage: Stage | None = run.stages.get(name)
        return Cost(stage.cpu_seconds, stage.wall_seconds) if stage and stage.device == self.device else None


def settings_text(settings: Any) -> str:
    """Return plain settings as text, the same wherever the checkout lies; paths in results are portable already."""
    return portable_paths(json.dumps(settings, sort_keys=True))


@lru_cache
def _runs(folder: Path) -> list[Result]:
    """Return the readable results of a folder; those that cannot be read are reported where they are used."""
    runs: Iterable[Result] = scan_records(folder, Result)[0].values() if folder.is_dir() else ()
    return list(runs)
