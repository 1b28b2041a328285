"""A small ViT in the format of google/vit-base-patch16-224: the locked image tower of the dual encoder."""

from dataclasses import dataclass, field
from pathlib import Path

import torch

from tools.scale_models.data import Scenes
from tools.scale_models.loop import Recipe
from tools.scale_models.supervised_pretraining import pretrain


@dataclass(frozen=True)
class ViTTraining:
    """Shape and recipe of the small ViT."""

    scenes: int = 60_000
    size: int = 64
    patch: int = 8
    width: int = 128
    layers: int = 4
    heads: int = 4
    recipe: Recipe = field(default_factory=lambda: Recipe(steps=5000, batch=64, lr=2e-3))


def train(out: Path, config: ViTTraining, device: torch.device) -> None:
    """Train a ViT on the tags of scenes and write it to `out`."""
    from transformers import ViTConfig, ViTForImageClassification, ViTImageProcessor

    shape = ViTConfig(
        image_size=config.size,
        patch_size=config.patch,
        hidden_size=config.width,
        num_hidden_layers=config.layers,
        num_attention_heads=config.heads,
        intermediate_size=4 * config.width,
        hidden_dropout_prob=0.0,
        attention_probs_dropout_prob=0.0,
        initializer_range=0.1,  # the usual 0.02 suits wide layers; with it narrow layers learn nothing for long
    )
    processor = ViTImageProcessor(
        size={"height": config.size, "width": config.size},
        resample=2,
        image_mean=[0.5, 0.5, 0.5],
        image_std=[0.5, 0.5, 0.5],
    )
    scenes = Scenes(config.scenes, config.recipe.seed, alone=True)
    pretrain(ViTForImageClassification, shape, processor, out, scenes, config.recipe, device)
