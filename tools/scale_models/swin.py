"""A small Swin in the format of microsoft/swin-base-patch4-window7-224-in22k: the encoder of the captioner."""

from dataclasses import dataclass, field
from pathlib import Path

import torch

from tools.scale_models.data import Scenes
from tools.scale_models.loop import Recipe
from tools.scale_models.supervised_pretraining import pretrain


@dataclass(frozen=True)
class SwinTraining:
    """Shape and recipe of the small Swin."""

    scenes: int = 60_000
    size: int = 64
    width: int = 32
    depths: tuple[int, ...] = (2, 2, 2)
    heads: tuple[int, ...] = (2, 4, 8)
    recipe: Recipe = field(default_factory=lambda: Recipe(steps=5000, batch=64, lr=2e-3))


def train(out: Path, config: SwinTraining, device: torch.device) -> None:
    """Train a Swin on the tags of scenes and write it to `out`."""
    from transformers import SwinConfig, SwinForImageClassification, ViTImageProcessor

    shape = SwinConfig(
        image_size=config.size,
        patch_size=4,
        window_size=4,
        embed_dim=config.width,
        depths=list(config.depths),
        num_heads=list(config.heads),
        drop_path_rate=0.0,
        initializer_range=0.1,  # the usual 0.02 suits wide layers; with it narrow layers learn nothing for long
    )
    processor = ViTImageProcessor(
        size={"height": config.size, "width": config.size},
        resample=3,
        image_mean=[0.485, 0.456, 0.406],
        image_std=[0.229, 0.224, 0.225],
    )
    scenes = Scenes(config.scenes, config.recipe.seed, alone=True)
    pretrain(SwinForImageClassification, shape, processor, out, scenes, config.recipe, device)
