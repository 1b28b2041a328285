"""A CLIP from random weights: what it learns, open_clip's recipe, and files that open_clip loads."""

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
from tests.command_line import Run, assert_one_line
from tests.downstream.tiny_models import (
    CAPTIONS,
    SIZE,
    Checkpoints,
    CountingSubset,
    MemorySubset,
    Recorder,
    draw,
    save_clip_architecture,
    six_steps,
)
from tests.jobs import compose_config

CPU = torch.device("cpu")
IMAGES = [draw(caption) for caption in CAPTIONS]
WEIGHTS = "open_clip_model.safetensors"


@pytest.fixture(scope="session")
def trained(
    checkpoints: Checkpoints, eight_pairs: MemorySubset, tmp_path_factory: pytest.TempPathFactory
) -> tuple[ClipScratch, Path, float]:
    model, folder = (
        ClipScratch(checkpoints.clip, six_steps(samples_seen=800), 5),
        tmp_path_factory.mktemp("clip"),
    )
    report = model.train(eight_pairs, folder, CPU, Recorder(), "fingerprint")
    assert report.final_loss is not None
    return model, folder / "model", report.final_loss


def built(architecture: str, seed: int = 0) -> ClipScratch:
    model = ClipScratch(architecture, six_steps(seed=seed), 5)
    model.build(CPU)
    return model


def test_overfits_eight_pairs(trained: Any) -> None:
    model, _, final_loss = trained
    assert final_loss < 0.2
    similarity = model.embed_texts(CAPTIONS) @ model.embed_images(IMAGES).T
    assert (similarity.argmax(1) == np.arange(8)).all()


def test_all_weights_are_drawn_from_the_seed(checkpoints: Checkpoints, tmp_path: Path, trained: Any) -> None:
    one, same, other = (built(checkpoints.clip, seed).embed_images(IMAGES) for seed in (0, 0, 1))
    assert np.array_equal(one, same)
    assert np.abs(one - other).max() > 0.01
    # A folder gives its architecture, not its weights.
    assert np.array_equal(built(str(trained[1])).embed_images(IMAGES), one)


def test_load_gives_the_same_vectors(trained: Any, checkpoints: Checkpoints, tmp_path: Path) -> None:
    model, folder, _ = trained
    again = ClipScratch(checkpoints.clip, six_steps(), 3)
    again.load(folder.parent, CPU)
    assert np.allclose(again.embed_images(IMAGES), model.embed_images(IMAGES), atol=1e-6)
    assert np.allclose(again.embed_texts(CAPTIONS), model.embed_texts(CAPTIONS), atol=1e-6)
    with pytest.raises(UserError, match=r"give a folder with an open_clip_config\.json"):
        again.load(tmp_path, CPU)


def test_open_clip_loads_the_folder_and_the_file(trained: Any, tmp_path: Path) -> None:
    model, folder, _ = trained
    config = json.loads((folder / "open_clip_config.json").read_text())["model_cfg"]
    (tmp_path / "tiny-of-a-test.json").write_text(json.dumps(config))
    open_clip.add_model_config(tmp_path / "tiny-of-a-test.json")
    for name, pretrained in ((f"local-dir:{folder}", None), ("tiny-of-a-test", str(folder / WEIGHTS))):
        clip, _, preprocess = open_clip.create_model_and_transforms(name, pretrained=pretrained)
        with torch.no_grad():
            images = clip.eval().encode_image(torch.stack([preprocess(i) for i in IMAGES]), normalize=True)
            texts = clip.encode_text(open_clip.get_tokenizer(name)(CAPTIONS), normalize=True)
        assert np.allclose(images.numpy(), model.embed_images(IMAGES), atol=1e-5)
        assert np.allclose(texts.numpy(), model.embed_texts(CAPTIONS), atol=1e-5)
    assert load_clip(f"local-dir:{folder}", None, CPU).embed_images(IMAGES).shape == (8, 24)


def test_a_folders_own_tokenizer_is_kept(tmp_path: Path) -> None:
    cfg = compose_config("models=demo", "downstream=clip_scratch")
    model = built(cfg.downstream.clip_scratch.architecture)
    model.save(tmp_path)
    again = ClipScratch("RN50", six_steps(), 5)
    again.load(tmp_path, CPU)
    assert np.allclose(again.embed_texts(CAPTIONS), model.embed_texts(CAPTIONS), atol=1e-6)
    assert again.collate.tokens(CAPTIONS)["input_ids"].shape == (8, 40)


class FrozenClip(ClipScratch):
    def _assemble(self, name: str, device: torch.device, load_weights: bool) -> None:
        super()._assemble(name, device, load_weights)
        self.model.clip.visual.requires_grad_(False)
        self.model.locked, self.augment = True, None


def test_a_frozen_tower_of_any_model_embeds_each_image_once(checkpoints: Checkpoints, tmp_path: Path) -> None:
    found = []
    for cached in (True, False):
        subset, model, tracker = (
            CountingSubset(CAPTIONS),
            FrozenClip(checkpoints.clip, six_steps(), 5),
            Recorder(),
        )
        model.cache_images = cached
        model.train(subset, tmp_path / str(cached), CPU, tracker, "f")
        found.append((subset.reads, tracker.losses()))
    (once, losses), (each_time, recomputed) = found
    assert (once, each_time) == (8, 48)
    assert losses == pytest.approx(recomputed, abs=1e-5)


def test_the_loss_is_open_clips(checkpoints: Checkpoints, eight_pairs: MemorySubset) -> None:
    model = built(checkpoints.clip)
    inputs = model.collate([eight_pairs[index] for index in range(8)])
    total, terms = model.model(inputs)
    clip = model.model.clip
    expected = ClipLoss()(*clip(inputs["pixel_values"], inputs["input_ids"][:, 0]))
    assert (total / terms).item() == pytest.approx(expected.item(), rel=1e-5)


def test_the_temperature_stops_at_a_hundred(checkpoints: Checkpoints, eight_pairs: MemorySubset) -> None:
    model = built(checkpoints.clip)
    assert model.model.clip.logit_scale.exp().item() == pytest.approx(1 / 0.07)
    with torch.no_grad():
        model.model.clip.logit_scale.fill_(9.0)
    model.model(model.collate([eight_pairs[0], eight_pairs[1]]))
    assert model.model.clip.logit_scale.exp().item() == pytest.approx(100)


def test_training_images_are_cropped_as_open_clip_does(checkpoints: Checkpoints) -> None:
    model, image = built(checkpoints.clip), draw(CAPTIONS[0]).resize((60, 45))
    with torch.random.fork_rng():
        torch.manual_seed(3)
        expected = image_transform(SIZE, is_train=True)(image)
        torch.manual_seed(3)
        cropped = open_clip_changes(SIZE)(image)
    assert torch.equal(model.collate.processor([cropped], "pt")["pixel_values"][0], expected)
    assert model.augment.changes is open_clip_changes


def test_the_papers_recipe(checkpoints: Checkpoints, eight_pairs: MemorySubset, tmp_path: Path) -> None:
    training = compose_config("models=paper", "downstream=clip_scratch").downstream.clip_scratch.training
    assert (training.batch_size, training.lr, training.max_grad_norm) == (4096, 5e-4, None)
    assert training.warmup_steps == 2000
    recipe = {name: training[name] for name in ("weight_decay", "beta2", "epsilon", "max_grad_norm")}
    model = ClipScratch(checkpoints.clip, six_steps(checkpoint_every=16, **recipe), 5)
    with pytest.raises(KeyboardInterrupt):
        model.train(eight_pairs, tmp_path, CPU, Recorder(stop_at=40), "f")
    (checkpoint,) = (tmp_path / "checkpoints").glob("step-*")
    matrices, vectors = torch.load(checkpoint / "optimizer.pt", weights_only=True)["param_groups"]
    for group in (matrices, vectors):
        assert (tuple(group["betas"]), group["eps"]) == ((0.9, 0.98), 1e-6)
    assert (matrices["weight_decay"], vectors["weight_decay"]) == (0.2, 0.0)


def test_an_architecture_with_another_loss_is_refused(tmp_path: Path) -> None:
    folder = save_clip_architecture(tmp_path / "siglip", init_logit_bias=-10.0)
    with pytest.raises(UserError, match="must have the loss of CLIP; choose RN50"):
        built(str(folder))


def test_an_unknown_architecture_is_one_line(run: Run, tmp_path: Path) -> None:
    settings = ["downstream=clip_scratch", "pool=demo", "filter=random", "task=train"]
    done = run(*settings, "downstream.clip_scratch.architecture=ViT-B-33")
    assert_one_line(done, "open_clip has no model 'ViT-B-33'; did you mean 'ViT-B-32'?")


@pytest.mark.parametrize(
    ("name", "remedy"),
    [
        ("ViT-B-33", "did you mean 'ViT-B-32'"),
        ("/nowhere/clip", "known: EVA"),
        ("", r"give a folder with an open_clip_config\.json"),
    ],
)
def test_an_architecture_that_is_not_there_has_a_remedy(name: str, remedy: str) -> None:
    with pytest.raises(UserError, match=remedy):
        built(name)
