"""Where training curves and results are logged: nowhere, or Weights & Biases."""

from collections.abc import Mapping
from typing import Protocol

from benchmark.core.metric_logger import MetricLogger
from benchmark.results.result import Result


class Tracker(MetricLogger, Protocol):
    """Logs the numbers of one run, and its result."""

    def finish(self, result: Result) -> None:
        """Log the whole result and close."""


class NoTracker:
    """Logs nowhere."""

    def __init__(self, name: str) -> None:
        self.name = name

    def log(self, values: Mapping[str, float], step: int | None = None) -> None:
        """Do nothing."""

    def finish(self, result: Result) -> None:
        """Do nothing."""
