"""The dual encoder: its loss, its towers, its texts. See `test_contract.py` too."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from benchmark.core.errors import UserError
from downstream import batching
from downstream.models.dual_encoder import DualEncoder
from downstream.models.networks import info_nce
from tests.downstream.tiny_models import (
    CAPTIONS,
    Checkpoints,
    MemorySubset,
    Recorder,
    built,
    draw,
    make,
    six_steps,
)

CPU = torch.device("cpu")
IMAGES = [draw(caption) for caption in CAPTIONS]


@pytest.fixture(scope="module")
def untrained(checkpoints: Checkpoints) -> DualEncoder:
    encoder: DualEncoder = built("locked", checkpoints)
    encoder.model.eval()
    return encoder


def test_info_nce_by_hand() -> None:
    images = torch.tensor([[1.0, 0.0], [0.0, 1.0]])
    texts = torch.tensor([[1.0, 0.0], [0.6, 0.8]])
    # Logits at scale 2: [[2, 1.2], [0, 1.6]]; rows are images, columns texts.
    rows = np.log(np.exp(2) + np.exp(1.2)) - 2, np.log(np.exp(0) + np.exp(1.6)) - 1.6
    columns = np.log(np.exp(2) + np.exp(0)) - 2, np.log(np.exp(1.2) + np.exp(1.6)) - 1.6
    expected = (sum(rows) + sum(columns)) / 2
    assert info_nce(images, texts, torch.tensor(2.0)).item() == pytest.approx(expected, abs=1e-6)


def test_groups_of_similar_length_change_no_vector(trained: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    encoder, texts, vectors = trained("locked").model, [*CAPTIONS, "a", "", "a red square " * 5], []
    monkeypatch.setattr(encoder, "eval_batch_size", len(texts))
    for rows in (len(texts), 3):
        monkeypatch.setattr(batching, "CPU_GROUP", rows)
        vectors.append(encoder.embed_texts(texts))
    assert np.allclose(*vectors, atol=1e-5)
    assert np.abs(vectors[0] - vectors[0][::-1]).max() > 0.1


def test_a_batch_of_one_pair_is_refused(checkpoints: Checkpoints) -> None:
    with pytest.raises(UserError, match=r"dual_encoder\.training\.batch_size must be at least 2"):
        make("locked", checkpoints, six_steps(batch_size=1))


@pytest.mark.parametrize(("batch_size", "is_said"), [(8, False), (9, True)])
def test_pairs_that_meet_themselves_in_a_batch_are_said(
    batch_size: int,
    is_said: bool,
    checkpoints: Checkpoints,
    eight_pairs: MemorySubset,
    tmp_path: Path,
    caplog: pytest.LogCaptureFixture,
) -> None:
    once = six_steps(batch_size=batch_size, samples_seen=batch_size)
    make("locked", checkpoints, once).train(eight_pairs, tmp_path, CPU, Recorder(), "f")
    assert ("batches of 9 hold some of the 8 pairs more than once" in caplog.text) == is_said


def test_a_locked_image_embedding_is_the_towers_own(untrained: DualEncoder, checkpoints: Checkpoints) -> None:
    from transformers import AutoImageProcessor, ViTModel

    tower = ViTModel.from_pretrained(checkpoints.vit, add_pooling_layer=False).eval()
    pixels = AutoImageProcessor.from_pretrained(checkpoints.vit)(images=IMAGES, return_tensors="pt")
    with torch.no_grad():
        states = tower(**pixels).last_hidden_state[:, 0]
    expected = torch.nn.functional.normalize(states, dim=-1).numpy()
    assert np.allclose(untrained.embed_images(IMAGES), expected, atol=1e-5)


def test_texts_are_bert_inputs_cut_and_padded(untrained: DualEncoder) -> None:
    tokenizer = untrained.collate.tokenizer
    start, end, pad = (tokenizer.convert_tokens_to_ids(token) for token in ("[CLS]", "[SEP]", "[PAD]"))
    tokens = untrained.collate.tokens(["a red square", "red " * 100])
    assert tokens["input_ids"].shape == (2, 16)
    first = tokens["input_ids"][0].tolist()
    assert (first[0], first[4], first[5:]) == (start, end, [pad] * 11)
    assert tokens["input_ids"][1, -1] == end
    assert tokens["attention_mask"].sum(1).tolist() == [5, 16]


def test_the_saved_text_tower_is_a_bert(trained: Any) -> None:
    from transformers import AutoModel

    tower = AutoModel.from_pretrained(trained("locked").folder / "model/text")
    expected = trained("locked").model.model.text_tower.state_dict()
    assert all(torch.equal(tower.state_dict()[name], tensor) for name, tensor in expected.items())
