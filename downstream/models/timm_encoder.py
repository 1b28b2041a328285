"""Vision encoders for the captioner, those of timm among them: CNNs, ViTs, Swins that put channels last."""

from collections.abc import Mapping
from typing import Any

import torch

from downstream.models.base import load_model, load_pretrained

TIMM = "timm_wrapper"  # what transformers calls the config of any timm model


def load_encoder(name: str) -> Any:
    """Load a vision model of transformers or timm (hub name or folder); it returns (n, positions, width)."""
    from transformers import AutoConfig, AutoModel

    config = load_pretrained(AutoConfig, name)
    if not is_timm(config):
        return load_model(AutoModel, name)
    # timm (1.0.31) writes the number of classes among these arguments too, where transformers (5.23) trips over it.
    config.model_args = {k: v for k, v in (config.model_args or {}).items() if k != "num_classes"}
    config.do_pooling = False  # the decoder looks at positions
    encoder = load_model(AutoModel, name, config=config)
    encoder.config.hidden_size = encoder.timm_model.num_features
    return as_positions(encoder)


def is_timm(config: Any) -> bool:
    """Tell whether a config of transformers describes a timm model."""
    return bool(config.model_type == TIMM)


def as_positions(encoder: Any) -> Any:
    """Have an encoder of timm return (n, positions, width), as cross-attention reads it; return the encoder.

    A hook, not a class of our own: what is saved stays what transformers knows.
    """
    encoder.register_forward_hook(_flatten)
    return encoder


def timm_processor(pretrained_cfg: Mapping[str, Any], architecture: str) -> Any:
    """Return the image processor of a timm model, which its config describes; no file of its own does."""
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
