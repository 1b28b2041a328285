"""Validation: a model measured in the middle of its training, which it does not change."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from benchmark.core.metric_logger import CaptionedImage, MetricLogger

if TYPE_CHECKING:
    from torch import nn


@dataclass(frozen=True)
class Validated:
    """Metrics by name, and captions that the model writes now."""

    metrics: Mapping[str, float]
    captions: Sequence[CaptionedImage] = ()


Validate = Callable[[], Validated]


def log_validation(
    name: str, validate: Validate, model: nn.Module, tracker: MetricLogger, seen: int
) -> float:
    """Log what `validate` returns after `seen` samples, and return the seconds that it took.

    `model` is in training mode again. The random generators need no care: every step of a training seeds them.
    """
    started = time.monotonic()
    validated = validate()
    model.train()
    tracker.log({f"{name}/validation/{metric}": v for metric, v in validated.metrics.items()}, step=seen)
    if validated.captions:
        tracker.log_captions(f"{name}/captions", validated.captions, step=seen)
    return time.monotonic() - started
