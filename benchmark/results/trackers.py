"""Where training curves and results are logged: nowhere, or Weights & Biases."""

from collections.abc import Mapping
from typing import Any, Protocol


class Tracker(Protocol):
    """Logs numbers of one run."""

    def log(self, values: Mapping[str, float], step: int | None = None) -> None:
        """Log `values` (e.g. ``{"captioner/loss": 2.1}``) at `step` samples seen."""

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
