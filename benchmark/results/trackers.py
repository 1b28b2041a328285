"""Where training curves and results are logged: nowhere, or Weights & Biases."""

from collections.abc import Mapping
from typing import Any, Protocol

from benchmark.core.metric_logger import MetricLogger


class Tracker(MetricLogger, Protocol):
    """Logs numbers of one run, and its result."""

    def finish(self, result: Mapping[str, Any]) -> None:
        """Log the whole result and close."""


class NoTracker:
    """Logs nowhere."""

    def __init__(self, name: str) -> None:
        self.name = name

    def log(self, values: Mapping[str, float], step: int | None = None) -> None:
        """Do nothing."""

    def finish(self, result: Mapping[str, Any]) -> None:
        """Do nothing."""
