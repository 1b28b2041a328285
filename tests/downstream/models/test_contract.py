"""The contract of all trained models: they learn, resume to the bit, are saved, loaded and found again."""

import math
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
import transformers as hf

from benchmark.core.errors import UserError
from downstream.models.captioner import Captioner
from downstream.models.clip_scratch import ClipScratch
from downstream.models.dual_encoder import DualEncoder, Unlocked
from tests.downstream.models.conftest import FOUR, LEARNT, Trained
from tests.downstream.tiny_models import (
    CAPTIONERS,
    CAPTIONS,
    KINDS,
    PAIR_ENCODERS,
    Checkpoints,
    ManyCaptions,
    MemorySubset,
    Recorder,
    built,
    draw,
    make,
    same_weights,
    save_decoder,
    six_steps,
    weights,
)

CPU = torch.device("cpu")
IMAGES = [draw(caption) for caption in FOUR]
UNREADABLE = MemorySubset(CAPTIONS, dict.fromkeys(range(8), "image_missing"))
OF_LOCKED = {"text_tower", "text_head", "log_scale"}
Learnt = Callable[[str], Trained]


def changed_parts(one: dict[str, torch.Tensor], other: dict[str, torch.Tensor]) -> set[str]:
    return {name.partition(".")[0] for name in one if not torch.equal(one[name], other[name])}


@pytest.mark.parametrize("kind", LEARNT)
def test_four_pairs_are_learnt(kind: str, trained: Learnt) -> None:
    of = trained(kind)
    # A head on a frozen image tower learns less.
    least, below = (3, 0.5 * of.losses[0]) if kind == "locked" else (4, 0.2)
    assert of.report.final_loss == of.losses[-1] < below
    if kind in CAPTIONERS:
        assert of.model.caption(IMAGES) == FOUR
    else:
        similarity = of.model.embed_texts(FOUR) @ of.model.embed_images(IMAGES).T
        assert sum(similarity.argmax(1) == np.arange(4)) >= least


@pytest.mark.parametrize("kind", LEARNT)
def test_outputs_do_not_depend_on_the_batch(kind: str, trained: Learnt) -> None:
    model = trained(kind).model
    images = IMAGES + [image.rotate(90) for image in IMAGES]
    if kind in CAPTIONERS:
        captions = model.caption(images)
        assert captions == [model.caption([image])[0] for image in images] == model.caption(iter(images))
        assert model.caption([]) == []
        return
    for embed, inputs in ((model.embed_images, images), (model.embed_texts, CAPTIONS)):
        vectors, width = embed(iter(inputs)), 32 if kind == "locked" else 24
        assert (vectors.shape, vectors.dtype) == ((8, width), np.float32)
        assert np.allclose(np.linalg.norm(vectors, axis=1), 1, atol=1e-5)
        assert np.allclose(vectors[6:7], embed(inputs[6:7]), atol=1e-5)
        assert embed([]).shape == (0, width)


@pytest.mark.parametrize("kind", LEARNT)
def test_a_finished_training_is_loaded_not_repeated(
    kind: str, trained: Learnt, checkpoints: Checkpoints, tmp_path: Path
) -> None:
    of, again = trained(kind), make(kind, checkpoints, LEARNT[kind])
    folder = shutil.copytree(of.folder, tmp_path / "run")
    assert sorted(path.name for path in folder.iterdir()) == ["finished.json", "model"]
    assert again.train(UNREADABLE, folder, CPU, Recorder(stop_at=0), "fingerprint") == of.report
    assert same_weights(weights(again), weights(of.model))
    with pytest.raises(UserError, match=r"no sample of the subset can be read \(\d+ image_missing\)"):
        again.train(UNREADABLE, folder, CPU, Recorder(), "another fingerprint")


@pytest.mark.parametrize("kind", LEARNT)
def test_load_gives_what_was_saved(
    kind: str, checkpoints: Checkpoints, trained: Learnt, tmp_path: Path
) -> None:
    model = trained(kind).model
    model.save(tmp_path)
    # The folder says whether it is locked.
    again = make("locked" if kind == "unlocked" else kind, checkpoints)
    again.load(tmp_path, CPU)
    assert same_weights(weights(again), weights(model))
    if kind in CAPTIONERS:
        assert again.caption(IMAGES[:2]) == model.caption(IMAGES[:2])
    else:
        assert np.allclose(again.embed_images(IMAGES), model.embed_images(IMAGES), atol=1e-6)
        assert np.allclose(again.embed_texts(FOUR), model.embed_texts(FOUR), atol=1e-6)


def test_a_folder_of_something_else_is_named(checkpoints: Checkpoints, tmp_path: Path) -> None:
    for kind, message in (
        ("captioner", "does not load as AutoTokenizer"),
        ("lstm_captioner", "must be the folder of an LSTM captioner"),
        ("locked", "must be the folder of a dual encoder"),
        ("clip_scratch", r"give a folder with an open_clip_config\.json"),
    ):
        with pytest.raises(UserError, match=message):
            make(kind, checkpoints).load(tmp_path, CPU)


@pytest.mark.parametrize("kind", [kind for kind in KINDS if kind != "uncached"])
def test_a_resumed_training_ends_with_the_same_bits(
    kind: str, checkpoints: Checkpoints, tmp_path: Path
) -> None:
    whole, cut, resumed = (make(kind, checkpoints, six_steps(checkpoint_every=16)) for _ in range(3))
    every, first, rest = Recorder(), Recorder(stop_at=40), Recorder()
    subset, reads = ManyCaptions(CAPTIONS), []
    whole.train(subset, tmp_path / "whole", CPU, every, "f")
    reads.append(subset.reads)
    with pytest.raises(KeyboardInterrupt):
        cut.train(subset, tmp_path / "cut", CPU, first, "f")
    reads.append(subset.reads)
    assert resumed.train(subset, tmp_path / "cut", CPU, rest, "f").resumed_from == 4
    assert first.losses()[:4] + rest.losses() == every.losses()
    assert same_weights(weights(whole), weights(resumed))
    # A frozen tower embeds each image once, even if the training is killed.
    once = kind in ("locked", "lstm_captioner")
    assert [*reads, subset.reads] == ([8, 16, 16] if once else [48, 88, 104])


@pytest.mark.parametrize(
    ("kind", "changes", "drawn"),
    [
        ("captioner", {}, {"decoder"}),
        ("locked", {}, {"text_head"}),
        ("unlocked", {}, {"image_head", "text_head"}),
        ("unlocked", {"unlocked": Unlocked(24, False, False)}, {"image_head", "text_head", "image_tower"}),
        ("clip_scratch", {}, {"clip"}),
    ],
)
def test_new_weights_are_drawn_from_the_seed(
    kind: str, changes: dict[str, Any], drawn: set[str], checkpoints: Checkpoints
) -> None:
    before = torch.get_rng_state()
    one, same, other = (weights(built(kind, checkpoints, six_steps(seed=n), **changes)) for n in (1, 1, 2))
    assert torch.equal(before, torch.get_rng_state())
    assert same_weights(one, same)
    assert changed_parts(one, other) == drawn


@pytest.mark.parametrize(
    ("kind", "parts"),
    [
        ("captioner", {"encoder", "decoder"}),
        ("locked", OF_LOCKED),
        ("unlocked", OF_LOCKED | {"image_tower", "image_head"}),
    ],
)
def test_the_parts_that_training_changes(
    kind: str, parts: set[str], trained: Learnt, checkpoints: Checkpoints
) -> None:
    assert changed_parts(weights(trained(kind).model), weights(built(kind, checkpoints))) == parts


def test_embedding_once_gives_the_losses_of_recomputing(checkpoints: Checkpoints, tmp_path: Path) -> None:
    subset, losses, reports = ManyCaptions(CAPTIONS, {3: "image_unreadable"}), [], []
    for kind in ("locked", "uncached"):
        tracker = Recorder()
        reports.append(make(kind, checkpoints).train(subset, tmp_path / kind, CPU, tracker, "f"))
        losses.append(tracker.losses())
    assert losses[0] == pytest.approx(losses[1], abs=1e-5)
    assert reports[0].skipped == reports[1].skipped == {"image_unreadable": 6}
    drawn, recipe = ManyCaptions(CAPTIONS), six_steps(samples_seen=5, batch_size=2)
    make("locked", checkpoints, recipe).train(drawn, tmp_path / "few", CPU, Recorder(), "f")
    assert drawn.reads == 5, "only images that the budget draws are embedded"


@pytest.mark.parametrize("kind", [kind for kind in PAIR_ENCODERS if kind != "uncached"])
def test_the_temperature_starts_at_clips_and_stops_at_a_hundred(
    kind: str, checkpoints: Checkpoints, eight_pairs: MemorySubset
) -> None:
    model = built(kind, checkpoints)
    assert model.model.log_scale.exp().item() == pytest.approx(1 / 0.07)
    for start, expected in ((9.0, math.log(100)), (-1.0, 0.0)):
        with torch.no_grad():
            model.model.log_scale.fill_(start)
        model.model(model.collate([eight_pairs[0], eight_pairs[1]]))
        assert model.model.log_scale.item() == pytest.approx(expected)


def test_each_model_is_tried_once_with_its_checkpoints(
    checkpoints: Checkpoints, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    tried: list[str] = []
    for kind in (Captioner, DualEncoder, ClipScratch):
        build = kind.build
        monkeypatch.setattr(
            kind, "build", lambda self, device, build=build: (tried.append(self.name), build(self, device))
        )
    models = [make(kind, checkpoints) for kind in ("captioner", "locked", "clip_scratch")]
    for model in [*models, *models, make("captioner", checkpoints, six_steps(seed=1, lr=1.0))]:
        model.tried()
    assert tried == ["captioner", "dual_encoder", "clip_scratch"]
    assert not any(hasattr(model, "model") for model in models)  # no weights are kept
    config = hf.GPT2Config(vocab_size=400, n_positions=64, n_embd=32, n_layer=1, n_head=4)
    other = save_decoder(tmp_path / "gpt2", hf.GPT2LMHeadModel(config))
    make("captioner", checkpoints, decoder=str(other)).tried()
    assert tried[3:] == ["captioner"]
