"""The optimizers of the trainer: AdamW and LAMB."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Literal

if TYPE_CHECKING:
    import torch
    from torch import nn

OptimizerName = Literal["adamw", "lamb"]


def make_optimizer(
    model: nn.Module,
    name: OptimizerName,
    lr: float,
    weight_decay: float,
    lr_ratios: Mapping[str, float] = MappingProxyType({}),
) -> torch.optim.Optimizer:
    """Return an optimizer of the trainable parameters; weight decay applies to matrices, not vectors.

    `lr_ratios` are factors on the learning rate of parts of the model, by the prefix of their parameters' names. Each
    group of parameters has its factor as `lr_ratio`, which whoever sets its `lr` multiplies in.
    """
    import torch

    groups: list[dict[str, Any]] = []
    for ratio, parameters in _by_ratio(model, lr_ratios).items():
        of_ratio = {"lr_ratio": ratio, "lr": ratio * lr}
        matrices = [p for p in parameters if p.ndim >= 2]
        # LAMB: matrices have a trust ratio with or without weight decay, other parameters never.
        groups.append(of_ratio | {"params": matrices, "weight_decay": weight_decay, "always_adapt": True})
        groups.append(of_ratio | {"params": [p for p in parameters if p.ndim < 2], "weight_decay": 0.0})
    if name == "adamw":
        return torch.optim.AdamW(groups, fused=True)
    from timm.optim.lamb import Lamb

    lamb: torch.optim.Optimizer = Lamb(groups, max_grad_norm=None)  # the trainer clips gradients
    return lamb


def _by_ratio(model: nn.Module, lr_ratios: Mapping[str, float]) -> dict[float, list[nn.Parameter]]:
    """Return the trainable parameters by the factor on their learning rate."""
    found: dict[float, list[nn.Parameter]] = {}
    for name, parameter in model.named_parameters():
        if parameter.requires_grad:
            ratio = next((r for prefix, r in lr_ratios.items() if name.startswith(prefix)), 1.0)
            found.setdefault(ratio, []).append(parameter)
    return found
