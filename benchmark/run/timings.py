"""How long a stage takes: the seconds of earlier results."""

import json
import statistics
from collections.abc import Callable, Mapping
from functools import cache
from pathlib import Path
from typing import Any

from benchmark.core.paths import CHECKOUT, portable_paths
from benchmark.core.records import scan_records
from benchmark.results.provenance import machine
from benchmark.results.result import Result

REFERENCE = CHECKOUT / "results" / "reference"  # part of a checkout, not of the wheel
OF_REFERENCE = "the reference results, on their machine"
# Settings of a training that do not change the seconds per sample.
FREE = {"samples_seen", "seed", "lr", "warmup_ratio", "weight_decay"}
FREE |= {"checkpoint_every", "log_every", "validate_every", "workers"}


class Timings:
    """Seconds of earlier results on this type of device: of this machine, or else of the reference.

    Args:
        results: the folder that ``results_dir`` names; its results of other machines are left out.
        device: ``cpu`` or ``cuda``; the reference has only results of a CPU.
    """

    def __init__(self, results: Path, device: str) -> None:
        self._device = device
        self._sources = {
            f"{results}, on this machine": [r for r in _results(results) if r.machine == machine()]
        }
        if device == "cpu":
            self._sources.setdefault(OF_REFERENCE, _results(REFERENCE))

    def median(self, seconds_of: Callable[[Result], float | None]) -> tuple[float | None, str]:
        """Return the median over the results for which a function knows the seconds, and whose results they are."""
        for source, results in self._sources.items():
            if known := [seconds for result in results if (seconds := seconds_of(result)) is not None]:
                return statistics.median(known), source
        return None, ""

    def stage(self, result: Result, name: str) -> float | None:
        """Return the seconds of a stage of a result on this type of device."""
        stage = result.stages.get(name)
        return stage.wall_seconds if stage and stage.device == self._device else None

    def training(self, name: str, settings: Mapping[str, Any]) -> tuple[float | None, str]:
        """Return the seconds of training a model with these settings of ``downstream.NAME``, as `median` does."""

        def seconds(result: Result) -> float | None:
            trained = result.downstream.get(name)
            if trained is None or self.stage(result, f"train/{name}") is None:
                return None
            if _recipe(result.config["downstream"][name]) != _recipe(settings):
                return None
            samples = int(settings["training"]["samples_seen"])
            return samples * trained.training.seconds / trained.training.samples_seen

        return self.median(seconds)


@cache
def _results(folder: Path) -> list[Result]:
    return list(scan_records(folder, Result)[0].values()) if folder.is_dir() else []


def settings_text(settings: Any) -> str:
    """Return settings as text, the same for every place of the checkout; paths in results are portable already."""
    return portable_paths(json.dumps(settings, sort_keys=True))


def _recipe(model: Mapping[str, Any]) -> str:
    """Return the settings that the seconds per sample depend on; settings that are off are left out."""
    off = (None, False, "auto")
    given = {name: value for name, value in model["training"].items() if value not in off}
    return settings_text({**model, "training": {name: given[name] for name in given.keys() - FREE}})
