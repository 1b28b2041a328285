"""Where a training logs its numbers."""

from collections.abc import Mapping
from typing import Protocol


class MetricLogger(Protocol):
    """Logs numbers of one run."""

    def log(self, values: Mapping[str, float], step: int | None = None) -> None:
        """Log `values` (e.g. ``{"captioner/loss": 2.1}``) at `step` samples seen."""
