"""Vision encoders for the captioner, of transformers or of timm: CNNs, ViTs, Swins with channels last."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from benchmark.models.checkpoints import load_model, load_pretrained

if TYPE_CHECKING:
    import torch

TIMM = "timm_wrapper"  # the type of the config of any timm model in transformers


def load_encoder(name: str) -> Any:
    """Load a vision model of transformers or timm by hub name or folder; it outputs (n, positions, width)."""
    config = load_pretrained("AutoConfig", name)
    if config.model_type != TIMM:
        return load_model("AutoModel", name)
    # timm (1.0.31) also writes the number of classes into these arguments; transformers (5.23) fails on it.
    config.model_args = {k: v for k, v in (config.model_args or {}).items() if k != "num_classes"}
    config.do_pooling = False  # the decoder attends to positions
    encoder = load_model("AutoModel", name, config=config)
    encoder.config.hidden_size = encoder.timm_model.num_features
    return as_positions(encoder)


def as_positions(encoder: Any) -> Any:
    """Make a timm encoder output (n, positions, width), as cross-attention needs it; return the encoder.

    A hook, not a subclass, so that transformers can load what is saved.
    """
    encoder.register_forward_hook(_flatten)
    return encoder


def timm_processor(pretrained_cfg: Mapping[str, Any], architecture: str) -> Any:
    """Return the image processor of a timm model, from its config: timm saves no processor file."""
    from transformers import TimmWrapperImageProcessor

    return TimmWrapperImageProcessor(dict(pretrained_cfg), architecture)


def _flatten(encoder: Any, inputs: tuple[Any, ...], output: Any) -> Any:
    output.last_hidden_state = positions(output.last_hidden_state, encoder.config.hidden_size)
    return output


def positions(features: torch.Tensor, width: int) -> torch.Tensor:
    """Return features of shape (n, width, h, w), (n, h, w, width), (n, t, width) or (n, width) as (n, t, width)."""
    if features.ndim == 4 and features.shape[1] == width:
        features = features.movedim(1, 3)
    return features.reshape(len(features), -1, width)
