"""Where a training run logs its losses and rates."""

from collections.abc import Mapping
from typing import Protocol


class MetricLogger(Protocol):
    """Logs the numbers of one run."""

    def log(self, values: Mapping[str, float], step: int | None = None) -> None:
        """Log `values` (e.g. ``{"captioner/loss": 2.1}``) at `step` samples seen."""
