"""The configs of the group, composed as the command line does: the paper's values, and full-size architectures."""

from pathlib import Path
from typing import Any

import hydra
import numpy as np
import pytest
import torch
from hydra.errors import InstantiationException
from omegaconf import DictConfig, OmegaConf

from benchmark.run.config import evaluation_nodes
from downstream.models.captioner import Captioner
from downstream.models.dual_encoder import DualEncoder
from tests.downstream.tiny_models import CAPTIONS, MemorySubset, Recorder, draw, save_bert, save_gpt2
from tests.jobs import compose_config

CPU = torch.device("cpu")


def composed(*overrides: str) -> DictConfig:
    return compose_config("pool=laion400m_8m", "pool.url=/nowhere", *overrides)


def test_the_papers_values() -> None:
    cfg = composed("downstream=both", "models=paper", "seed=7")
    models = {name: hydra.utils.instantiate(node, _convert_="all") for name, node in cfg.downstream.items()}
    captioner, dual_encoder = models["captioner"], models["dual_encoder"]
    assert isinstance(captioner, Captioner)
    assert isinstance(dual_encoder, DualEncoder)
    assert (captioner.training.batch_size, dual_encoder.training.batch_size) == (100, 128)
    for model in models.values():
        assert model.training.samples_seen == 2_000_000
        assert model.training.lr == 2e-5
        assert model.training.seed == 7
    assert captioner.encoder.name == "microsoft/swin-base-patch4-window7-224-in22k"
    assert captioner.decoder.name == "gpt2"
    assert dual_encoder.image_encoder.name == "google/vit-base-patch16-224"
    assert dual_encoder.text_encoder.name == "bert-base-uncased"
    assert dual_encoder.locked


def test_ava_captions_values() -> None:
    overrides = ["downstream=lstm_captioner_weak", "models=paper", "models.lstm_captioner.weak_encoder=/weak"]
    cfg = composed(*overrides)
    captioner = hydra.utils.instantiate(cfg.downstream.lstm_captioner, _convert_="all")
    assert (captioner.beams, captioner.max_words, captioner.word_threshold) == (2, 16, 40)
    assert (captioner.training.batch_size, captioner.training.lr) == (64, 1e-5)
    assert captioner.encoder.name == "/weak"
    same = OmegaConf.to_container(
        composed("downstream=lstm_captioner", *overrides[1:]).downstream, resolve=True
    )
    own = OmegaConf.to_container(cfg.downstream, resolve=True)
    assert own["lstm_captioner"] == same["lstm_captioner"] | {"encoder": "/weak"}
    assert same["lstm_captioner"]["encoder"] == "timm/resnet101.tv_in1k"
    with pytest.raises(InstantiationException, match=r"weak_encoder must be the folder"):
        hydra.utils.instantiate(composed(*overrides[:2]).downstream.lstm_captioner, _convert_="all")


def test_the_budget_shrinks_with_the_pool() -> None:
    cfg = composed("pool.scale=100", "downstream=captioner")
    assert list(cfg.downstream) == ["captioner"]
    assert cfg.downstream.captioner.training.samples_seen == 20_000
    smaller = composed("pool.scale=100", "budget=50000", "downstream.dual_encoder.training.samples_seen=7")
    assert smaller.downstream.captioner.training.samples_seen == 500
    assert smaller.downstream.dual_encoder.training.samples_seen == 7


@pytest.mark.parametrize(
    ("evalset", "uses"),
    [
        ("demo", {"coco": (True, True), "nocaps": (True, False), "flickr30k": (False, True)}),
        ("paper", {"coco": (True, True), "nocaps": (True, False), "flickr30k": (False, True)}),
        ("ava", {"ava": (True, False)}),
        ("pccd", {"pccd": (True, False)}),
        ("hub", {"coco": (True, True), "flickr30k": (False, True)}),
        ("ds_clip", {"coco": (True, True), "flickr30k": (False, True)}),
    ],
)
def test_evaluation_sets_are_used_as_in_the_paper(evalset: str, uses: dict[str, tuple[bool, bool]]) -> None:
    cfg = composed(f"evalset={evalset}")
    described = {name: node for name, node in evaluation_nodes(cfg).items() if "captioning" in node}
    assert {name: (node.captioning, node.retrieval) for name, node in described.items()} == uses
    for name, node in evaluation_nodes(cfg).items():
        assert node.name == name
        assert callable(hydra.utils.get_method(node._target_))


def test_classification_is_scored_as_in_ds_clip() -> None:
    nodes = evaluation_nodes(composed("evalset=ds_clip"))
    sets = {name: node for name, node in nodes.items() if "score" in node}
    assert len(sets) == 9
    assert {name for name, node in sets.items() if node.score == "mean_per_class"} == {"caltech101", "pets"}
    assert {name for name, node in sets.items() if "templates" in node} == {"pets", "food101"}
    assert {name: node.probe_epochs for name, node in sets.items() if "probe_epochs" in node} == {
        "imagenet": 10,
        "imagenetv2": 10,
    }


def save_image_tower(folder: Path, model: Any) -> None:
    from transformers import ViTImageProcessor

    model.save_pretrained(folder)
    # As in the papers' preprocessor_config.json: 224 x 224, mean and std of ImageNet.
    mean, std = [0.485, 0.456, 0.406], [0.229, 0.224, 0.225]
    ViTImageProcessor(size={"height": 224, "width": 224}, image_mean=mean, image_std=std).save_pretrained(
        folder
    )


@pytest.mark.full
def test_swin_base_and_gpt2_train_two_steps(tmp_path: Path) -> None:
    from transformers import SwinConfig, SwinForImageClassification

    swin = SwinConfig(embed_dim=128, depths=[2, 2, 18, 2], num_heads=[4, 8, 16, 32], num_labels=10)
    save_image_tower(tmp_path / "swin", SwinForImageClassification(swin))
    save_gpt2(tmp_path / "gpt2", CAPTIONS, width=768, layers=12, heads=12, vocab_size=50257, n_positions=1024)
    cfg = composed(
        "downstream=captioner",
        f"models.captioner.encoder={tmp_path}/swin",
        f"models.captioner.decoder={tmp_path}/gpt2",
        "downstream.captioner.training.samples_seen=4",
        "downstream.captioner.training.batch_size=2",
        "downstream.captioner.training.log_every=1",
        "downstream.captioner.max_new_tokens=4",
    )
    captioner, tracker = hydra.utils.instantiate(cfg.downstream.captioner, _convert_="all"), Recorder()
    report = captioner.train(MemorySubset(CAPTIONS), tmp_path / "run", CPU, tracker, "f")
    assert report.steps == 2
    assert all(8 < loss < 14 for loss in tracker.losses())  # ln(50257) is 10.8
    parameters = sum(p.numel() for p in captioner.model.parameters())
    assert 235e6 < parameters < 245e6  # Swin-B 87M, GPT-2 124M, cross-attention 28M, no wider than needed
    assert len(captioner.caption([draw(CAPTIONS[0])])) == 1


@pytest.mark.slow
def test_vit_base_and_bert_base_train_two_steps(tmp_path: Path) -> None:
    from transformers import ViTConfig, ViTForImageClassification

    save_image_tower(tmp_path / "vit", ViTForImageClassification(ViTConfig(num_labels=10)))
    save_bert(tmp_path / "bert", CAPTIONS, width=768, layers=12, heads=12, vocab_size=30522)
    cfg = composed(
        "downstream=dual_encoder",
        f"models.dual_encoder.image={tmp_path}/vit",
        f"models.dual_encoder.text={tmp_path}/bert",
        "downstream.dual_encoder.training.samples_seen=4",
        "downstream.dual_encoder.training.batch_size=2",
        "downstream.dual_encoder.training.log_every=1",
    )
    encoder, tracker = hydra.utils.instantiate(cfg.downstream.dual_encoder, _convert_="all"), Recorder()
    report = encoder.train(MemorySubset(CAPTIONS), tmp_path / "run", CPU, tracker, "f")
    assert report.steps == 2
    assert np.isfinite(tracker.losses()).all()
    vectors = encoder.embed_images([draw(CAPTIONS[0])])
    assert vectors.shape == (1, 768)
