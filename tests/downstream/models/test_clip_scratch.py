"""A CLIP from random weights: open_clip's loss, recipe and files. See `test_contract.py` too."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import open_clip
import pytest
import torch
from open_clip.loss import ClipLoss
from open_clip.transform import image_transform

from benchmark.core.errors import UserError
from benchmark.models.clip_models import load_clip
from downstream.models.clip_scratch import ClipScratch
from downstream.models.networks import open_clip_changes
from tests.downstream.tiny_models import (
    CAPTIONS,
    SIZE,
    Checkpoints,
    MemorySubset,
    Recorder,
    built,
    draw,
    make,
    save_clip_architecture,
    six_steps,
)
from tests.jobs import compose_config

CPU = torch.device("cpu")
IMAGES = [draw(caption) for caption in CAPTIONS]


@pytest.fixture(scope="module")
def untrained(checkpoints: Checkpoints) -> ClipScratch:
    model: ClipScratch = built("clip_scratch", checkpoints)
    return model


def test_a_folder_gives_its_architecture_not_its_weights(
    untrained: ClipScratch, checkpoints: Checkpoints, trained: Any
) -> None:
    again = built("clip_scratch", checkpoints, architecture=str(trained("clip_scratch").folder / "model"))
    assert np.array_equal(again.embed_images(IMAGES), untrained.embed_images(IMAGES))


def test_open_clip_loads_the_folder_and_the_file(trained: Any, tmp_path: Path) -> None:
    model, folder = trained("clip_scratch").model, trained("clip_scratch").folder / "model"
    config = json.loads((folder / "open_clip_config.json").read_text())["model_cfg"]
    (tmp_path / "tiny-of-a-test.json").write_text(json.dumps(config))
    open_clip.add_model_config(tmp_path / "tiny-of-a-test.json")
    file = str(folder / "open_clip_model.safetensors")
    for name, pretrained in ((f"local-dir:{folder}", None), ("tiny-of-a-test", file)):
        clip, _, preprocess = open_clip.create_model_and_transforms(name, pretrained=pretrained)
        with torch.no_grad():
            images = clip.eval().encode_image(torch.stack([preprocess(i) for i in IMAGES]), normalize=True)
            texts = clip.encode_text(open_clip.get_tokenizer(name)(CAPTIONS), normalize=True)
        assert np.allclose(images.numpy(), model.embed_images(IMAGES), atol=1e-5)
        assert np.allclose(texts.numpy(), model.embed_texts(CAPTIONS), atol=1e-5)
    assert load_clip(f"local-dir:{folder}", None, CPU).embed_images(IMAGES).shape == (8, 24)


def test_a_folders_own_tokenizer_is_kept(checkpoints: Checkpoints, tmp_path: Path) -> None:
    cfg = compose_config("models=demo", "downstream=clip_scratch")
    model = built("clip_scratch", checkpoints, architecture=cfg.downstream.clip_scratch.architecture)
    model.save(tmp_path)
    again = make("clip_scratch", checkpoints, architecture="RN50")
    again.load(tmp_path, CPU)
    assert np.allclose(again.embed_texts(CAPTIONS), model.embed_texts(CAPTIONS), atol=1e-6)
    assert again.collate.tokens(CAPTIONS)["input_ids"].shape == (8, 40)


def test_the_loss_is_open_clips(untrained: ClipScratch, eight_pairs: MemorySubset) -> None:
    inputs = untrained.collate([eight_pairs[index] for index in range(8)])
    total, terms = untrained.model(inputs)
    expected = ClipLoss()(*untrained.model.clip(inputs["pixel_values"], inputs["input_ids"][:, 0]))
    assert (total / terms).item() == pytest.approx(expected.item(), rel=1e-5)


def test_training_images_are_cropped_as_open_clip_does(untrained: ClipScratch) -> None:
    image = draw(CAPTIONS[0]).resize((60, 45))
    with torch.random.fork_rng():
        torch.manual_seed(3)
        expected = image_transform(SIZE, is_train=True)(image)
        torch.manual_seed(3)
        cropped = open_clip_changes(SIZE)(image)
    assert torch.equal(untrained.collate.processor([cropped], "pt")["pixel_values"][0], expected)
    assert untrained.augment is not None
    assert str(untrained.augment.changes) == str(open_clip_changes(SIZE))


def test_the_papers_recipe(checkpoints: Checkpoints, eight_pairs: MemorySubset, tmp_path: Path) -> None:
    training = compose_config("models=paper", "downstream=clip_scratch").downstream.clip_scratch.training
    assert (training.batch_size, training.lr, training.max_grad_norm) == (4096, 5e-4, None)
    assert training.warmup_steps == 2000
    recipe = {name: training[name] for name in ("weight_decay", "beta2", "epsilon", "max_grad_norm")}
    model = make("clip_scratch", checkpoints, six_steps(checkpoint_every=8, **recipe))
    with pytest.raises(KeyboardInterrupt):
        model.train(eight_pairs, tmp_path, CPU, Recorder(stop_at=16), "f")
    (checkpoint,) = (tmp_path / "checkpoints").glob("step-*")
    matrices, vectors = torch.load(checkpoint / "optimizer.pt", weights_only=True)["param_groups"]
    for group in (matrices, vectors):
        assert (tuple(group["betas"]), group["eps"]) == ((0.9, 0.98), 1e-6)
    assert (matrices["weight_decay"], vectors["weight_decay"]) == (0.2, 0.0)


def test_an_architecture_that_cannot_be_trained_has_a_remedy(
    checkpoints: Checkpoints, tmp_path: Path
) -> None:
    with_bias = save_clip_architecture(tmp_path / "siglip", init_logit_bias=-10.0)
    for name, remedy in (
        (str(with_bias), "must have the loss of CLIP; choose RN50"),
        ("ViT-B-33", "open_clip has no model 'ViT-B-33'; did you mean 'ViT-B-32'?"),
        ("/nowhere/clip", "known: EVA"),
        ("", r"give a folder with an open_clip_config\.json"),
    ):
        with pytest.raises(UserError, match=remedy):
            built("clip_scratch", checkpoints, architecture=name)
