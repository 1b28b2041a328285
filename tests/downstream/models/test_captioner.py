"""The captioner: its tokens, its parts, what it learns, and how it writes."""

import shutil
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
from downstream.models.networks import CaptionCollate, CaptionLoss
from tests.downstream.tiny_models import (
    CAPTIONS,
    Checkpoints,
    MemorySubset,
    Recorder,
    draw,
    save_gpt2,
    six_steps,
)

CPU = torch.device("cpu")
IMAGES = [draw(caption) for caption in CAPTIONS]
LEARNT = {"samples_seen": 1500, "lr": 5e-3}  # enough to know eight pairs by heart


def make(checkpoints: Checkpoints, **changes: Any) -> Captioner:
    batch, ratio = changes.pop("eval_batch_size", 5), changes.pop("encoder_lr_ratio", 1.0)
    return Captioner(
        checkpoints.swin,
        checkpoints.gpt2,
        six_steps(**changes),
        16,
        beams=3,
        max_new_tokens=12,
        eval_batch_size=batch,
        encoder_lr_ratio=ratio,
    )


@pytest.fixture
def built(checkpoints: Checkpoints) -> Captioner:
    captioner = make(checkpoints)
    captioner.build(CPU)
    return captioner


@pytest.fixture(scope="session")
def trained(
    checkpoints: Checkpoints, eight_pairs: MemorySubset, tmp_path_factory: pytest.TempPathFactory
) -> Any:
    captioner, tracker = make(checkpoints, **LEARNT), Recorder()
    folder = tmp_path_factory.mktemp("captioner")
    report = captioner.train(eight_pairs, folder, CPU, tracker, "fingerprint")
    return captioner, folder, report, tracker


def weights(captioner: Captioner) -> dict[str, torch.Tensor]:
    return {name: tensor.clone() for name, tensor in captioner.model.state_dict().items()}


def test_overfits_eight_pairs(trained: Any) -> None:
    captioner, _, report, tracker = trained
    assert report.final_loss < 0.1 < tracker.losses()[0]
    assert captioner.caption(IMAGES) == CAPTIONS


def test_the_encoder_has_a_learning_rate_of_its_own(
    checkpoints: Checkpoints, eight_pairs: MemorySubset, tmp_path: Path
) -> None:
    captioner = make(checkpoints, encoder_lr_ratio=0)
    captioner.build(CPU)
    before = weights(captioner)
    captioner.train(eight_pairs, tmp_path, CPU, Recorder(), "f")
    moved = {name for name, tensor in weights(captioner).items() if not torch.equal(tensor, before[name])}
    assert moved
    assert all(name.startswith("decoder.") for name in moved)
    with pytest.raises(UserError, match="encoder_lr_ratio=-1 must be a number of at least 0"):
        make(checkpoints, encoder_lr_ratio=-1)


def test_batched_beam_search_equals_one_by_one(trained: Any) -> None:
    captioner = trained[0]
    images = IMAGES + [image.rotate(90) for image in IMAGES]
    batched = captioner.caption(images)
    assert batched == [captioner.caption([image])[0] for image in images]
    assert batched == captioner.caption(iter(images))
    assert captioner.caption([]) == []


def test_transformers_alone_loads_what_was_saved(trained: Any) -> None:
    from transformers import AutoImageProcessor, AutoTokenizer, VisionEncoderDecoderModel

    folder = trained[1]
    model = VisionEncoderDecoderModel.from_pretrained(folder / "model").eval()
    tokenizer = AutoTokenizer.from_pretrained(folder / "model")
    pixels = AutoImageProcessor.from_pretrained(folder / "model")(images=IMAGES, return_tensors="pt")
    found = tokenizer.batch_decode(model.generate(**pixels), skip_special_tokens=True)
    assert [caption.strip() for caption in found] == CAPTIONS
    assert model.generation_config.num_beams == 3


def test_load_gives_the_same_model(trained: Any, checkpoints: Checkpoints, tmp_path: Path) -> None:
    captioner, folder, _, _ = trained
    again = make(checkpoints)
    again.load(folder, CPU)
    assert again.caption(IMAGES[:2]) == CAPTIONS[:2]
    captioner.save(tmp_path)
    again.load(tmp_path, CPU)
    assert all(torch.equal(tensor, weights(again)[name]) for name, tensor in weights(captioner).items())


def test_a_finished_training_is_loaded_not_repeated(trained: Any, checkpoints: Checkpoints) -> None:
    _, folder, report, _ = trained
    unreadable = MemorySubset(CAPTIONS, dict.fromkeys(range(8), "image_missing"))
    again = make(checkpoints, **LEARNT)
    assert again.train(unreadable, folder, CPU, Recorder(stop_at=0), "fingerprint") == report
    assert again.caption(IMAGES[:1]) == CAPTIONS[:1]
    assert not (folder / "checkpoints").exists()
    with pytest.raises(UserError, match="image_missing"):
        again.train(unreadable, folder, CPU, Recorder(), "another fingerprint")


def test_resume_ends_with_the_same_bits(
    checkpoints: Checkpoints, eight_pairs: MemorySubset, tmp_path: Path
) -> None:
    whole, cut, resumed = (make(checkpoints, checkpoint_every=16) for _ in range(3))
    expected = whole.train(eight_pairs, tmp_path / "whole", CPU, Recorder(), "f")
    with pytest.raises(KeyboardInterrupt):
        cut.train(eight_pairs, tmp_path / "cut", CPU, Recorder(stop_at=40), "f")
    report = resumed.train(eight_pairs, tmp_path / "cut", CPU, Recorder(), "f")
    assert report.resumed_from == 4
    assert report.final_loss == expected.final_loss
    assert all(torch.equal(tensor, weights(resumed)[name]) for name, tensor in weights(whole).items())


def test_tokens_by_hand(built: Captioner) -> None:
    end = built.tokenizer.eos_token_id
    red = built.tokenizer("a red square")["input_ids"]
    blue = built.tokenizer("a blue square on the left")["input_ids"]
    assert len(red) == 3 < len(blue) == 6
    inputs, labels = built_collate(built, 16).tokens(["a red square", "a blue square on the left"])
    assert inputs.tolist() == [[end, *red, end, end, end], [end, *blue]]
    assert labels.tolist() == [[*red, end, -100, -100, -100], [*blue, end]]


def test_a_cut_caption_gets_no_end(built: Captioner) -> None:
    end = built.tokenizer.eos_token_id
    blue = built.tokenizer("a blue square on the left")["input_ids"]
    inputs, labels = built_collate(built, 4).tokens(["a blue square on the left"])
    assert inputs.tolist() == [[end, *blue[:3]]]
    assert labels.tolist() == [blue[:4]]
    inputs, labels = built_collate(built, 4).tokens([""])
    assert (inputs.tolist(), labels.tolist()) == ([[end]], [[end]])


def built_collate(captioner: Captioner, max_tokens: int) -> CaptionCollate:
    return CaptionCollate(captioner.processor, captioner.tokenizer, max_tokens)


def test_the_loss_is_the_models_own(built: Captioner, eight_pairs: MemorySubset) -> None:
    collate = built_collate(built, 16)
    inputs = collate([eight_pairs[0], eight_pairs[3]])
    built.model.eval()
    total, tokens = CaptionLoss(built.model)(inputs)
    expected = built.model(pixel_values=inputs["pixel_values"], labels=inputs["labels"]).loss
    assert total.item() / tokens == pytest.approx(expected.item(), abs=1e-5)
    assert tokens == 14


def test_groups_of_similar_length_change_neither_loss_nor_gradients(
    built: Captioner, eight_pairs: MemorySubset, monkeypatch: pytest.MonkeyPatch
) -> None:
    inputs = built_collate(built, 16)([eight_pairs[i] for i in range(8)])
    built.model.eval()
    found = []
    for rows in (8, 3):
        monkeypatch.setattr(batching, "CPU_GROUP", rows)
        built.model.zero_grad()
        total, _ = CaptionLoss(built.model)(inputs)
        total.backward()
        gradients = [p.grad.clone() for p in built.model.parameters() if p.grad is not None]
        found.append([total.detach(), *gradients])
    assert len(found[0]) > 10
    assert all(torch.allclose(a, b, atol=1e-4, rtol=1e-4) for a, b in zip(*found, strict=True))


def test_preprocessing_is_the_checkpoints(built: Captioner) -> None:
    photo = Image.fromarray(np.random.default_rng(0).integers(0, 256, (47, 61, 3), dtype=np.uint8))
    pixels = built_collate(built, 16)([Sample("0" * 32, "a", photo)])["pixel_values"]
    resized = np.asarray(photo.resize((32, 32), Image.Resampling.BICUBIC), np.float32) / 255
    by_hand = (resized - [0.5, 0.4, 0.3]) / [0.2, 0.25, 0.3]
    assert pixels.shape == (1, 3, 32, 32)
    # Pillow and torchvision round the resized bytes differently in places, by one of 255.
    assert np.abs(pixels[0].numpy().transpose(1, 2, 0) - by_hand).max() < 1.01 / 255 / 0.2


def test_parts_keep_their_weights_and_new_ones_come_from_the_seed(checkpoints: Checkpoints) -> None:
    from transformers import GPT2LMHeadModel, SwinModel

    before = torch.get_rng_state()
    built = [make(checkpoints, seed=seed) for seed in (1, 1, 2)]
    for captioner in built:
        captioner.build(CPU)
    assert torch.equal(before, torch.get_rng_state())
    one, same, other = (weights(captioner) for captioner in built)
    assert all(torch.equal(tensor, same[name]) for name, tensor in one.items())
    new = {name for name, tensor in one.items() if not torch.equal(tensor, other[name])}
    assert new
    assert all("crossattention" in name for name in new)
    swin, gpt2 = (
        SwinModel.from_pretrained(checkpoints.swin),
        GPT2LMHeadModel.from_pretrained(checkpoints.gpt2),
    )
    for prefix, part in (("encoder.", swin), ("decoder.", gpt2)):
        assert all(torch.equal(tensor, one[prefix + name]) for name, tensor in part.state_dict().items())


def test_towers_of_different_width_are_joined(checkpoints: Checkpoints, tmp_path: Path) -> None:
    narrow = Checkpoints(checkpoints.swin, str(save_gpt2(tmp_path / "gpt2", CAPTIONS, width=24)), "", "")
    captioner = make(narrow)
    captioner.build(CPU)
    assert captioner.model.enc_to_dec_proj.weight.shape == (24, 32)
    assert len(captioner.caption(IMAGES[:2])) == 2


def test_the_decoders_own_limit_holds(checkpoints: Checkpoints, tmp_path: Path) -> None:
    short = Checkpoints(checkpoints.swin, str(save_gpt2(tmp_path / "gpt2", CAPTIONS, n_positions=8)), "", "")
    captioner = make(short, samples_seen=4, batch_size=2)
    captioner.train(MemorySubset([f"{CAPTIONS[0]} {CAPTIONS[1]}"]), tmp_path / "run", CPU, Recorder(), "f")
    assert len(captioner.caption(IMAGES[:2])) == 2


def test_captions_are_one_line(trained: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    captioner = trained[0]
    monkeypatch.setattr(
        type(captioner.tokenizer),
        "batch_decode",
        lambda self, ids, **options: [" a\nred\r\u2028square\x85 "] * len(ids),
    )
    assert captioner.caption(IMAGES[:1]) == ["a red square"]


def test_unusable_checkpoints_are_said_in_one_line(checkpoints: Checkpoints, tmp_path: Path) -> None:
    for encoder, decoder in (
        (str(tmp_path / "none"), checkpoints.gpt2),
        (str(tmp_path), checkpoints.gpt2),
        (checkpoints.swin, str(tmp_path)),
    ):
        captioner = make(Checkpoints(encoder, decoder, "", ""))
        with pytest.raises(UserError) as caught:
            captioner.build(CPU)
        assert "\n" not in str(caught.value)


def test_a_checkpoint_without_its_weights_is_refused(checkpoints: Checkpoints, tmp_path: Path) -> None:
    from safetensors.torch import load_file, save_file

    shutil.copytree(checkpoints.swin, tmp_path / "swin")
    kept = {
        name: t
        for name, t in load_file(tmp_path / "swin/model.safetensors").items()
        if "layers.1" not in name
    }
    save_file(kept, tmp_path / "swin/model.safetensors", {"format": "pt"})
    with pytest.raises(UserError, match=r"lacks \d+ weights of SwinModel: encoder"):
        make(Checkpoints(str(tmp_path / "swin"), checkpoints.gpt2, "", "")).build(CPU)
