"""Activation checkpointing: activations are computed again in the backward pass and not kept until then."""

from __future__ import annotations

import logging
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from torch import nn

log = logging.getLogger(__name__)


def checkpoint_activations(model: nn.Module, name: str) -> None:
    """Let `model` compute activations again, with the same dropout, so that gradients stay the same.

    Args:
        model: its attribute `towers` holds its trained networks; one without it is a network itself.
        name: of the model, in the line that says which network cannot.
    """
    towers: Iterable[Any] = getattr(model, "towers", [model])
    for tower in towers:
        if not _enabled(tower):
            log.warning(
                "%s: training.checkpointing changes nothing for %s, which cannot recompute activations; "
                "training.micro_batch saves memory too",
                name,
                type(getattr(tower, "timm_model", tower)).__name__,
            )


def _enabled(tower: Any) -> bool:
    from torch.nn.modules.batchnorm import _BatchNorm

    # Computed again, a batch would count twice in running statistics.
    if any(isinstance(module, _BatchNorm) for module in tower.modules()):
        return False
    try:
        if hasattr(tower, "activation_checkpointing_enable"):  # its name in transformers since 5.23
            tower.activation_checkpointing_enable({"use_reentrant": False})
        elif hasattr(tower, "gradient_checkpointing_enable"):
            tower.gradient_checkpointing_enable({"use_reentrant": False})
        else:
            tower.set_grad_checkpointing()  # of timm
    except (AttributeError, AssertionError, ValueError):  # how transformers and timm refuse
        return False
    return True
