"""The optimizers of the trainer: AdamW and LAMB."""

from typing import Literal

import torch
from torch import nn

OptimizerName = Literal["adamw", "lamb"]


def make_optimizer(
    model: nn.Module, name: OptimizerName, lr: float, weight_decay: float
) -> torch.optim.Optimizer:
    """Return an optimizer of the trainable parameters; weight decay applies to matrices, not vectors."""
    trainable = [p for p in model.parameters() if p.requires_grad]
    matrices = {"params": [p for p in trainable if p.ndim >= 2], "weight_decay": weight_decay}
    others = {"params": [p for p in trainable if p.ndim < 2], "weight_decay": 0.0}
    if name == "adamw":
        return torch.optim.AdamW([matrices, others], lr=lr, fused=True)
    from timm.optim.lamb import Lamb

    # The trainer clips gradients. Matrices have a trust ratio with or without weight decay, other parameters never.
    lamb: torch.optim.Optimizer = Lamb([matrices | {"always_adapt": True}, others], lr=lr, max_grad_norm=None)
    return lamb
