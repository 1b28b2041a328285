"""The captioner: its tokens, its parts, its loss, and how it writes. See `test_contract.py` too."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from PIL import Image

from benchmark.core.batch import Sample
from benchmark.core.errors import UserError
from downstream import batching
from downstream.models.captioner import Captioner
from downstream.models.networks import CaptionLoss
from tests.downstream.models.conftest import FOUR
from tests.downstream.tiny_models import (
    CAPTIONS,
    Checkpoints,
    MemorySubset,
    Recorder,
    built,
    draw,
    make,
    save_gpt2,
    six_steps,
    weights,
)

CPU = torch.device("cpu")
IMAGES = [draw(caption) for caption in FOUR]


@pytest.fixture(scope="module")
def untrained(checkpoints: Checkpoints) -> Captioner:
    captioner: Captioner = built("captioner", checkpoints)
    captioner.model.eval()
    return captioner


def test_transformers_alone_loads_what_was_saved(trained: Any) -> None:
    from transformers import AutoImageProcessor, AutoTokenizer, VisionEncoderDecoderModel

    folder = trained("captioner").folder / "model"
    model = VisionEncoderDecoderModel.from_pretrained(folder).eval()
    pixels = AutoImageProcessor.from_pretrained(folder)(images=IMAGES, return_tensors="pt")
    written = AutoTokenizer.from_pretrained(folder).batch_decode(
        model.generate(**pixels), skip_special_tokens=True
    )
    assert [caption.strip() for caption in written] == FOUR
    assert model.generation_config.num_beams == 3


def test_a_ratio_of_0_freezes_the_encoder(checkpoints: Checkpoints, tmp_path: Path) -> None:
    captioner = make("captioner", checkpoints, six_steps(samples_seen=8), encoder_lr_ratio=0.0)
    before = weights(built("captioner", checkpoints))
    captioner.train(MemorySubset(CAPTIONS), tmp_path, CPU, Recorder(), "f")
    moved = {name for name, tensor in weights(captioner).items() if not torch.equal(tensor, before[name])}
    assert moved
    assert all(name.startswith("decoder.") for name in moved)
    with pytest.raises(UserError, match="encoder_lr_ratio=-1 must be a number of at least 0"):
        make("captioner", checkpoints, encoder_lr_ratio=-1)


def test_tokens_by_hand(untrained: Captioner) -> None:
    end = untrained.tokenizer.eos_token_id
    red = untrained.tokenizer("a red square")["input_ids"]
    blue = untrained.tokenizer("a blue square on the left")["input_ids"]
    assert len(red) == 3 < len(blue) == 6
    inputs, labels = untrained.collate.tokens(["a red square", "a blue square on the left"])
    assert inputs.tolist() == [[end, *red, end, end, end], [end, *blue]]
    assert labels.tolist() == [[*red, end, -100, -100, -100], [*blue, end]]


def test_a_cut_caption_gets_no_end(checkpoints: Checkpoints) -> None:
    short = built("captioner", checkpoints, max_tokens=4)
    end, blue = short.tokenizer.eos_token_id, short.tokenizer("a blue square on the left")["input_ids"]
    for caption, inputs, labels in (
        ("a blue square on the left", [end, *blue[:3]], blue[:4]),
        ("", [end], [end]),
    ):
        assert [rows.tolist() for rows in short.collate.tokens([caption])] == [[inputs], [labels]]


def test_the_loss_is_the_models_own(untrained: Captioner, eight_pairs: MemorySubset) -> None:
    inputs = untrained.collate([eight_pairs[0], eight_pairs[3]])
    total, tokens = CaptionLoss(untrained.model)(inputs)
    expected = untrained.model(pixel_values=inputs["pixel_values"], labels=inputs["labels"]).loss
    assert total.item() / tokens == pytest.approx(expected.item(), abs=1e-5)
    assert tokens == 14


def test_groups_of_similar_length_change_neither_loss_nor_gradients(
    untrained: Captioner, eight_pairs: MemorySubset, monkeypatch: pytest.MonkeyPatch
) -> None:
    inputs, computed = untrained.collate([eight_pairs[i] for i in range(8)]), []
    for rows in (8, 3):
        monkeypatch.setattr(batching, "CPU_GROUP", rows)
        untrained.model.zero_grad()
        total, _ = CaptionLoss(untrained.model)(inputs)
        total.backward()
        gradients = [p.grad.clone() for p in untrained.model.parameters() if p.grad is not None]
        computed.append([total.detach(), *gradients])
    assert len(computed[0]) > 10
    assert all(torch.allclose(a, b, atol=1e-4, rtol=1e-4) for a, b in zip(*computed, strict=True))


def test_preprocessing_is_the_checkpoints(untrained: Captioner) -> None:
    photo = Image.fromarray(np.random.default_rng(0).integers(0, 256, (47, 61, 3), dtype=np.uint8))
    pixels = untrained.collate([Sample("0" * 32, "a", photo)])["pixel_values"]
    resized = np.asarray(photo.resize((32, 32), Image.Resampling.BICUBIC), np.float32) / 255
    by_hand = (resized - [0.5, 0.4, 0.3]) / [0.2, 0.25, 0.3]
    assert pixels.shape == (1, 3, 32, 32)
    # Pillow and torchvision round the resized bytes differently in places, by one of 255.
    assert np.abs(pixels[0].numpy().transpose(1, 2, 0) - by_hand).max() < 1.01 / 255 / 0.2


def test_only_cross_attention_is_new(untrained: Captioner, checkpoints: Checkpoints) -> None:
    from transformers import GPT2LMHeadModel, SwinModel

    swin, gpt2 = (
        SwinModel.from_pretrained(checkpoints.swin),
        GPT2LMHeadModel.from_pretrained(checkpoints.gpt2),
    )
    parts = {"encoder.": swin.state_dict(), "decoder.": gpt2.state_dict()}
    given = {prefix + name: tensor for prefix, state in parts.items() for name, tensor in state.items()}
    joined = weights(untrained)
    assert all(torch.equal(tensor, joined[name]) for name, tensor in given.items())
    assert all("cross" in name for name in joined.keys() - given.keys())


def test_towers_of_different_width_and_length_are_joined(checkpoints: Checkpoints, tmp_path: Path) -> None:
    narrow = str(save_gpt2(tmp_path / "gpt2", CAPTIONS, width=24, n_positions=8))
    recipe = six_steps(samples_seen=4, batch_size=2)
    captioner = make("captioner", checkpoints, recipe, decoder=narrow)
    captioner.train(MemorySubset([f"{CAPTIONS[0]} {CAPTIONS[1]}"]), tmp_path / "run", CPU, Recorder(), "f")
    assert captioner.model.enc_to_dec_proj.weight.shape == (24, 32)
    assert len(captioner.caption(IMAGES[:2])) == 2, "of at most 8 tokens"


def test_captions_are_one_line(untrained: Captioner, monkeypatch: pytest.MonkeyPatch) -> None:
    text = " a\nred\r\u2028square\x85 "
    monkeypatch.setattr(
        type(untrained.tokenizer), "batch_decode", lambda self, ids, **options: [text] * len(ids)
    )
    assert untrained.caption(IMAGES[:1]) == ["a red square"]
