"""The dual encoder: its loss, its lock, the images it embeds once, what it learns."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from benchmark.core.errors import UserError
from downstream import batching
from downstream.models.dual_encoder import DualEncoder, Unlocked
from downstream.models.networks import info_nce
from tests.downstream.tiny_models import (
    CAPTIONS,
    UNLOCKED,
    Checkpoints,
    CountingSubset,
    MemorySubset,
    Recorder,
    draw,
    six_steps,
)

CPU = torch.device("cpu")
IMAGES = [draw(caption) for caption in CAPTIONS]


def make(
    checkpoints: Checkpoints,
    locked: bool = True,
    cache_images: bool = True,
    unlocked: Unlocked = UNLOCKED,
    **changes: Any,
) -> DualEncoder:
    training = six_steps(**changes)
    return DualEncoder(checkpoints.vit, checkpoints.bert, training, locked, cache_images, 16, 5, unlocked)


@pytest.fixture
def built(checkpoints: Checkpoints) -> DualEncoder:
    encoder = make(checkpoints)
    encoder.build(CPU)
    return encoder


@pytest.fixture(scope="session")
def trained(
    checkpoints: Checkpoints, eight_pairs: MemorySubset, tmp_path_factory: pytest.TempPathFactory
) -> Any:
    encoder, tracker = make(checkpoints, samples_seen=1600), Recorder()
    folder = tmp_path_factory.mktemp("dual_encoder")
    report = encoder.train(eight_pairs, folder, CPU, tracker, "fingerprint")
    return encoder, folder, report, tracker


def weights(encoder: DualEncoder) -> dict[str, torch.Tensor]:
    return {name: tensor.clone() for name, tensor in encoder.model.state_dict().items()}


def equal(one: dict[str, torch.Tensor], other: dict[str, torch.Tensor]) -> bool:
    return all(torch.equal(tensor, other[name]) for name, tensor in one.items())


def ranks_first(encoder: DualEncoder) -> int:
    similarity = encoder.embed_texts(CAPTIONS) @ encoder.embed_images(IMAGES).T
    return int((similarity.argmax(1) == np.arange(8)).sum())


def test_info_nce_by_hand() -> None:
    images = torch.tensor([[1.0, 0.0], [0.0, 1.0]])
    texts = torch.tensor([[1.0, 0.0], [0.6, 0.8]])
    # Logits at scale 2: [[2, 1.2], [0, 1.6]]; rows are images, columns texts.
    rows = np.log(np.exp(2) + np.exp(1.2)) - 2, np.log(np.exp(0) + np.exp(1.6)) - 1.6
    columns = np.log(np.exp(2) + np.exp(0)) - 2, np.log(np.exp(1.2) + np.exp(1.6)) - 1.6
    expected = (sum(rows) + sum(columns)) / 2
    assert info_nce(images, texts, torch.tensor(2.0)).item() == pytest.approx(expected, abs=1e-6)


def test_groups_of_similar_length_change_no_vector(trained: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    encoder, texts = trained[0], [*CAPTIONS, "a", "", "a red square " * 5]
    monkeypatch.setattr(encoder, "eval_batch_size", len(texts))
    found = []
    for rows in (len(texts), 3):
        monkeypatch.setattr(batching, "CPU_GROUP", rows)
        found.append(encoder.embed_texts(texts))
    assert np.allclose(*found, atol=1e-5)
    assert np.abs(found[0] - found[0][::-1]).max() > 0.1


def test_locked_learns_text_for_the_images_it_has(trained: Any) -> None:
    encoder, _, report, tracker = trained
    assert report.final_loss < 0.5 * tracker.losses()[0]
    assert ranks_first(encoder) >= 6


@pytest.mark.slow
def test_a_batch_of_one_pair_is_refused(checkpoints: Checkpoints) -> None:
    with pytest.raises(UserError, match=r"training\.batch_size must be at least 2"):
        make(checkpoints, batch_size=1)


def test_pairs_that_meet_themselves_in_a_batch_are_said(
    checkpoints: Checkpoints, eight_pairs: MemorySubset, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    make(checkpoints, batch_size=9, samples_seen=9).train(eight_pairs, tmp_path, CPU, Recorder(), "f")
    assert "batches of 9 hold some of the 8 pairs more than once" in caplog.text


@pytest.mark.slow
def test_unlocked_overfits_eight_pairs(
    checkpoints: Checkpoints, eight_pairs: MemorySubset, tmp_path: Path
) -> None:
    encoder = make(checkpoints, locked=False, samples_seen=2000)
    report = encoder.train(eight_pairs, tmp_path, CPU, Recorder(), "f")
    assert report.final_loss < 0.2
    assert ranks_first(encoder) == 8


def test_an_unlocked_tower_may_start_from_nothing(checkpoints: Checkpoints) -> None:
    started = [
        make(checkpoints, locked=False, unlocked=Unlocked(24, pretrained, False))
        for pretrained in (True, False, False)
    ]
    for encoder in started:
        encoder.build(CPU)
    pretrained, one, again = map(weights, started)
    assert equal(one, again)
    changed = [name for name in one if not torch.equal(one[name], pretrained[name])]
    assert any(name.startswith("image_tower.encoder") or ".layer" in name for name in changed)
    assert not [name for name in changed if name.startswith("text_tower")]
    assert started[1].embed_images(IMAGES).shape == started[1].embed_texts(CAPTIONS).shape == (8, 24)


def test_a_locked_tower_is_frozen_and_an_unlocked_one_is_not(
    checkpoints: Checkpoints, eight_pairs: MemorySubset, tmp_path: Path
) -> None:
    for locked in (True, False):
        encoder = make(checkpoints, locked=locked, samples_seen=16, cache_images=False)
        encoder.build(CPU)
        before = weights(encoder)
        encoder.train(eight_pairs, tmp_path / str(locked), CPU, Recorder(), "f")
        changed = {
            name.split(".")[0] for name, t in weights(encoder).items() if not torch.equal(t, before[name])
        }
        towers = {"text_tower", "text_head", "log_scale"}
        assert changed == (towers if locked else towers | {"image_tower", "image_head"})


def test_embedding_once_gives_the_losses_of_recomputing(checkpoints: Checkpoints, tmp_path: Path) -> None:
    subset = MemorySubset(CAPTIONS, {3: "image_unreadable"}, others=("a square", "something red"))
    found = []
    for cache_images in (True, False):
        encoder, tracker = make(checkpoints, cache_images=cache_images, samples_seen=100), Recorder()
        report = encoder.train(subset, tmp_path / str(cache_images), CPU, tracker, "f")
        found.append((tracker.losses(), report.skipped, weights(encoder)))
    (cached, skipped, one), (recomputed, also_skipped, other) = found
    assert len(cached) == 13
    assert cached == pytest.approx(recomputed, abs=1e-5)
    assert skipped == also_skipped
    assert skipped.keys() == {"image_unreadable"}
    assert all(torch.allclose(tensor, other[name], atol=1e-5) for name, tensor in one.items())


def test_each_image_is_read_once_even_if_training_is_killed(checkpoints: Checkpoints, tmp_path: Path) -> None:
    subset = CountingSubset(CAPTIONS)
    whole = make(checkpoints, checkpoint_every=16)
    whole.train(subset, tmp_path / "whole", CPU, Recorder(), "f")
    assert subset.reads == 8
    with pytest.raises(KeyboardInterrupt):
        make(checkpoints, checkpoint_every=16).train(subset, tmp_path / "cut", CPU, Recorder(stop_at=40), "f")
    assert subset.reads == 16
    resumed = make(checkpoints, checkpoint_every=16)
    assert resumed.train(subset, tmp_path / "cut", CPU, Recorder(), "f").resumed_from == 4
    assert subset.reads == 16
    assert equal(weights(whole), weights(resumed))
    assert sorted(path.name for path in (tmp_path / "cut").iterdir()) == ["finished.json", "model"]


def test_only_images_that_the_budget_draws_are_embedded(checkpoints: Checkpoints, tmp_path: Path) -> None:
    subset = CountingSubset(CAPTIONS)
    make(checkpoints, samples_seen=5, batch_size=2).train(subset, tmp_path, CPU, Recorder(), "f")
    assert subset.reads == 5


def test_embeddings_are_unit_vectors_whatever_the_batch(trained: Any) -> None:
    encoder = trained[0]
    for vectors, alone in (
        (encoder.embed_images(IMAGES), encoder.embed_images(IMAGES[6:7])),
        (encoder.embed_texts(CAPTIONS), encoder.embed_texts(CAPTIONS[6:7])),
    ):
        assert vectors.shape == (8, 32)
        assert vectors.dtype == np.float32
        assert np.allclose(np.linalg.norm(vectors, axis=1), 1, atol=1e-5)
        assert np.allclose(vectors[6:7], alone, atol=1e-5)
    assert encoder.embed_images([]).shape == encoder.embed_texts(iter([])).shape == (0, 32)


def test_a_locked_image_embedding_is_the_towers_own(trained: Any, checkpoints: Checkpoints) -> None:
    from transformers import AutoImageProcessor, ViTModel

    tower = ViTModel.from_pretrained(checkpoints.vit, add_pooling_layer=False).eval()
    pixels = AutoImageProcessor.from_pretrained(checkpoints.vit)(images=IMAGES, return_tensors="pt")
    with torch.no_grad():
        states = tower(**pixels).last_hidden_state[:, 0]
    expected = torch.nn.functional.normalize(states, dim=-1).numpy()
    assert np.allclose(trained[0].embed_images(IMAGES), expected, atol=1e-5)


def test_texts_are_bert_inputs_cut_and_padded(built: DualEncoder) -> None:
    start, end, pad = (built.collate.tokenizer.convert_tokens_to_ids(t) for t in ("[CLS]", "[SEP]", "[PAD]"))
    tokens = built.collate.tokens(["a red square", "red " * 100])
    assert tokens["input_ids"].shape == (2, 16)
    first = tokens["input_ids"][0].tolist()
    assert (first[0], first[4], first[5:]) == (start, end, [pad] * 11)
    assert tokens["input_ids"][1, -1] == end
    assert tokens["attention_mask"].sum(1).tolist() == [5, 16]


def test_temperature_starts_at_clips_and_stops_at_a_hundred(
    built: DualEncoder, eight_pairs: MemorySubset
) -> None:
    assert built.model.log_scale.exp().item() == pytest.approx(1 / 0.07)
    with torch.no_grad():
        built.model.log_scale.fill_(9.0)
    built.model(built.collate([eight_pairs[0], eight_pairs[1]]))
    assert built.model.log_scale.exp().item() == pytest.approx(100)


def test_load_gives_the_same_model(trained: Any, checkpoints: Checkpoints, tmp_path: Path) -> None:
    from transformers import AutoModel

    encoder, folder, _, _ = trained
    again = make(checkpoints)
    again.load(folder, CPU)
    assert equal(weights(encoder), weights(again))
    assert AutoModel.from_pretrained(folder / "model/text").config.model_type == "bert"
    unlocked = make(checkpoints, locked=False)
    unlocked.build(CPU)
    unlocked.save(tmp_path)
    again.load(tmp_path, CPU)
    assert equal(weights(unlocked), weights(again))
    with pytest.raises(UserError, match="must be the folder of a dual encoder"):
        again.load(tmp_path / "text", CPU)
