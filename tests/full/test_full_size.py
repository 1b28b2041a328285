"""The paper's architectures at their full size, two steps on the CPU: losses, parameters, widths."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import hydra
import numpy as np
import pytest
import torch

from tests.downstream.tiny_models import CAPTIONS, MemorySubset, Recorder, draw, save_bert, save_gpt2
from tests.jobs import compose_config

pytestmark = pytest.mark.full
CPU = torch.device("cpu")


def trained(name: str, towers: Mapping[str, Path], folder: Path, *settings: str) -> tuple[Any, list[float]]:
    """Train a downstream model of these towers for two steps of two pairs; return it with its losses."""
    paths = [f"models.{name}.{tower}={path}" for tower, path in towers.items()]
    short = {"samples_seen": 4, "batch_size": 2, "log_every": 1}
    recipe = [f"downstream.{name}.training.{setting}={value}" for setting, value in short.items()]
    pool = ["pool=laion400m_8m", "pool.url=/nowhere"]
    cfg = compose_config(*pool, f"downstream={name}", *paths, *recipe, *settings)
    model, tracker = hydra.utils.instantiate(cfg.downstream[name], _convert_="all"), Recorder()
    assert model.train(MemorySubset(CAPTIONS), folder / "run", CPU, tracker, "f").steps == 2
    return model, tracker.losses()


def save_image_tower(folder: Path, model: Any) -> None:
    from transformers import ViTImageProcessor

    model.save_pretrained(folder)
    # As in the papers' preprocessor_config.json: 224 x 224, mean and std of ImageNet.
    mean, std = [0.485, 0.456, 0.406], [0.229, 0.224, 0.225]
    ViTImageProcessor(size={"height": 224, "width": 224}, image_mean=mean, image_std=std).save_pretrained(
        folder
    )


def test_swin_base_and_gpt2_train_two_steps(tmp_path: Path) -> None:
    from transformers import SwinConfig, SwinForImageClassification

    swin = SwinConfig(embed_dim=128, depths=[2, 2, 18, 2], num_heads=[4, 8, 16, 32], num_labels=10)
    save_image_tower(tmp_path / "swin", SwinForImageClassification(swin))
    save_gpt2(tmp_path / "gpt2", CAPTIONS, width=768, layers=12, heads=12, vocab_size=50257, n_positions=1024)
    towers = {"encoder": tmp_path / "swin", "decoder": tmp_path / "gpt2"}
    captioner, losses = trained("captioner", towers, tmp_path, "downstream.captioner.max_new_tokens=4")
    assert all(8 < loss < 14 for loss in losses)  # ln(50257) is 10.8
    parameters = sum(p.numel() for p in captioner.model.parameters())
    assert 235e6 < parameters < 245e6  # Swin-B 87M, GPT-2 124M, cross-attention 28M, no wider than needed
    assert len(captioner.caption([draw(CAPTIONS[0])])) == 1


def test_vit_base_and_bert_base_train_two_steps(tmp_path: Path) -> None:
    from transformers import ViTConfig, ViTForImageClassification

    save_image_tower(tmp_path / "vit", ViTForImageClassification(ViTConfig(num_labels=10)))
    save_bert(tmp_path / "bert", CAPTIONS, width=768, layers=12, heads=12, vocab_size=30522)
    encoder, losses = trained(
        "dual_encoder", {"image": tmp_path / "vit", "text": tmp_path / "bert"}, tmp_path
    )
    assert np.isfinite(losses).all()
    vectors = encoder.embed_images([draw(CAPTIONS[0])])
    assert vectors.shape == (1, 768)
