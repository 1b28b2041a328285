"""Checkpoints that do not fit are said in one line by a trial, which a model passes once."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import torch
import transformers as hf

from benchmark.core.errors import UserError
from benchmark.core.paths import cache_folder
from benchmark.models.checkpoints import find_checkpoint, revision, text_limit
from downstream.models.base import Downstream
from downstream.models.captioner import Captioner
from downstream.models.clip_scratch import ClipScratch
from downstream.models.dual_encoder import DualEncoder
from downstream.models.lstm_captioner import LstmCaptioner
from tests.downstream.tiny_models import (
    UNLOCKED,
    Checkpoints,
    edited,
    save_clip_architecture,
    save_decoder,
    save_processor,
    save_roberta,
    six_steps,
)

CPU = torch.device("cpu")
TOKENS = 80  # more than any of the tiny models takes
LAYERS = {"hidden_size": 32, "num_hidden_layers": 1, "num_attention_heads": 4}
SIZES = {**LAYERS, "vocab_size": 400, "intermediate_size": 64}
ROBERTA = hf.RobertaConfig(**SIZES, max_position_embeddings=34, pad_token_id=1)
OPT = hf.OPTConfig(**LAYERS, vocab_size=400, ffn_dim=64, word_embed_proj_dim=32)
BLOOM = hf.BloomConfig(vocab_size=400, hidden_size=32, n_layer=1, n_head=4)
DINO = hf.Dinov2Config(**LAYERS, image_size=56, patch_size=14)
GPT2 = {"n_positions": 64, "n_embd": 32, "n_layer": 1, "n_head": 4}
WITHOUT_CROSS_ATTENTION = {
    "opt": lambda: hf.OPTForCausalLM(OPT),
    "llama": lambda: hf.LlamaForCausalLM(hf.LlamaConfig(**SIZES)),
    "bloom": lambda: hf.BloomForCausalLM(BLOOM),
    "gpt_neox": lambda: hf.GPTNeoXForCausalLM(hf.GPTNeoXConfig(**SIZES)),
}


class Parts:
    """Models of the tiny checkpoints, with some of them replaced."""

    def __init__(self, tiny: Checkpoints) -> None:
        self.tiny = tiny

    def captioner(self, encoder: object = None, decoder: object = None, **changes: Any) -> Captioner:
        names = str(encoder or self.tiny.swin), str(decoder or self.tiny.gpt2)
        return Captioner(*names, six_steps(**changes), TOKENS, 3, 12, 5)

    def dual(self, image: object = None, text: object = None) -> DualEncoder:
        names = str(image or self.tiny.vit), str(text or self.tiny.bert)
        return DualEncoder(*names, six_steps(), True, True, TOKENS, 5, UNLOCKED)

    def lstm(self, encoder: object = None) -> LstmCaptioner:
        return LstmCaptioner(str(encoder or self.tiny.swin), six_steps(), 8, 0.0, 1, 5, 2, 5)

    def clip(self, architecture: object = None) -> ClipScratch:
        return ClipScratch(str(architecture or self.tiny.clip), six_steps(), 5)


@pytest.fixture
def parts(checkpoints: Checkpoints) -> Iterator[Parts]:
    yield Parts(checkpoints)
    revision.cache_clear()
    find_checkpoint.cache_clear()


def assert_named(model: Downstream, *words: str) -> None:
    """One line that begins with the setting as typed, and nothing kept of the trial."""
    with pytest.raises(UserError) as caught:
        model.tried()
    line = str(caught.value)
    assert line.startswith(words[0])
    assert [word for word in words if word not in line] == []
    assert "\n" not in line
    assert not cache_folder("trials").exists()


@pytest.mark.parametrize("family", WITHOUT_CROSS_ATTENTION)
def test_a_decoder_without_cross_attention_is_named(parts: Parts, tmp_path: Path, family: str) -> None:
    decoder = save_decoder(tmp_path / "decoder", WITHOUT_CROSS_ATTENTION[family]())
    typed = f"models.captioner.decoder={decoder} ({family}) must be"
    assert_named(parts.captioner(decoder=decoder), typed, "with cross-attention", "choose a GPT-2")


def test_a_tower_without_a_class_token_is_named(parts: Parts, tmp_path: Path) -> None:
    text = save_decoder(tmp_path / "text", hf.BloomModel(BLOOM))
    assert_named(
        parts.dual(text=text), f"models.dual_encoder.text={text} (bloom) must be", "a BERT or RoBERTa"
    )


def test_a_model_without_a_maximum_length_is_named(parts: Parts) -> None:
    tokenizer = hf.AutoTokenizer.from_pretrained(parts.tiny.gpt2)
    with pytest.raises(UserError, match="checkpoint a must have max_position_embeddings"):
        text_limit(tokenizer, hf.BloomModel(BLOOM), "checkpoint a")


def test_a_text_tower_without_a_pad_token_is_named(parts: Parts, tmp_path: Path) -> None:
    text = edited(parts.tiny.bert, tmp_path / "bert", "tokenizer_config.json", pad_token=None)
    assert_named(parts.dual(text=text), f"models.dual_encoder.text={text}", "no padding token", '"pad_token"')


def test_a_decoder_without_a_pad_token_is_used(parts: Parts) -> None:
    assert hf.AutoTokenizer.from_pretrained(parts.tiny.gpt2).pad_token is None
    parts.captioner().tried()


def test_tokens_without_embeddings_are_named(parts: Parts, tmp_path: Path) -> None:
    few = hf.RobertaConfig(**{**SIZES, "vocab_size": 100}, max_position_embeddings=34, pad_token_id=1)
    text = save_roberta(tmp_path / "text", hf.RobertaModel(few))
    assert_named(parts.dual(text=text), f"models.dual_encoder.text={text}", "knows 100")
    decoder = save_decoder(tmp_path / "gpt2", hf.GPT2LMHeadModel(hf.GPT2Config(vocab_size=100, **GPT2)))
    assert_named(parts.captioner(decoder=decoder), f"models.captioner.decoder={decoder}", "knows 100")
    tower = {"context_length": 16, "vocab_size": 100, "width": 32, "heads": 4, "layers": 1}
    clip = save_clip_architecture(tmp_path / "clip", text_cfg=tower)
    assert_named(parts.clip(clip), f"downstream.clip_scratch.architecture={clip}", "vocab_size=100")


def test_roberta_takes_its_positions_and_no_more(parts: Parts, tmp_path: Path) -> None:
    text = save_roberta(tmp_path / "text", hf.RobertaModel(ROBERTA))
    parts.dual(text=text).tried()
    dual = parts.dual(text=text)
    dual.build(CPU)
    assert dual.collate.tokens(["a " * TOKENS])["input_ids"].shape == (1, 32)
    parts.captioner(decoder=save_roberta(tmp_path / "decoder", hf.RobertaForCausalLM(ROBERTA))).tried()


@pytest.mark.parametrize(
    ("kind", "setting"),
    [
        ("captioner", "models.captioner.encoder"),
        ("dual", "models.dual_encoder.image"),
        ("lstm", "downstream.lstm_captioner.encoder"),
    ],
)
def test_images_that_the_model_cannot_take_are_named(
    parts: Parts, tmp_path: Path, kind: str, setting: str
) -> None:
    def vit(name: str, processor: Any) -> Path:
        config = hf.ViTConfig.from_pretrained(parts.tiny.vit)
        for part in (hf.ViTModel(config), processor):
            part.save_pretrained(tmp_path / name)
        return tmp_path / name

    make = getattr(parts, kind)
    large = vit("large", hf.ViTImageProcessor(size={"height": 64, "width": 48}))
    assert_named(
        make(large), f"{setting}={large}", "takes (32), not 64 x 48 pixels", "preprocessor_config.json"
    )
    uncut = vit("uncut", hf.CLIPImageProcessor(size={"shortest_edge": 32}, do_center_crop=False))
    assert_named(make(uncut), f"{setting}={uncut}", "not 32 x 48 and 48 x 32", "preprocessor_config.json")


def test_a_size_that_the_model_takes_is_no_mistake(parts: Parts, tmp_path: Path) -> None:
    hf.Dinov2Model(DINO).save_pretrained(tmp_path)
    save_processor(tmp_path, 28)
    parts.captioner(encoder=tmp_path).tried()


def test_an_encoder_of_many_widths_is_named(parts: Parts, tmp_path: Path) -> None:
    sizes = {"embedding_size": 8, "hidden_sizes": [8, 16], "depths": [1, 1], "layer_type": "basic"}
    hf.ResNetModel(hf.ResNetConfig(**sizes)).save_pretrained(tmp_path)
    save_processor(tmp_path)
    assert_named(parts.captioner(tmp_path), f"models.captioner.encoder={tmp_path}", "model of timm")
    assert_named(parts.lstm(tmp_path), f"downstream.lstm_captioner.encoder={tmp_path}", "model of timm")


def test_an_unexpected_error_is_no_mistake_of_the_user(parts: Parts, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*args: Any, **options: Any) -> None:
        raise ValueError("a fault")

    monkeypatch.setattr(hf.ViTModel, "forward", fail)
    with pytest.raises(ValueError, match="a fault"):
        parts.dual().tried()


def test_each_model_is_tried_once_with_its_checkpoints(
    parts: Parts, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    built: list[str] = []
    for kind in (Captioner, DualEncoder, LstmCaptioner, ClipScratch):
        build = kind.build
        monkeypatch.setattr(
            kind, "build", lambda self, device, build=build: (built.append(self.name), build(self, device))
        )
    models = [parts.captioner(), parts.dual(), parts.lstm(), parts.clip()]
    for model in [*models, *models, parts.captioner(seed=1, lr=1.0)]:
        model.tried()
    assert built == ["captioner", "dual_encoder", "lstm_captioner", "clip_scratch"]
    assert not any(hasattr(model, "model") for model in models)  # no weights are kept
    longer = save_decoder(tmp_path / "gpt2", hf.GPT2LMHeadModel(hf.GPT2Config(vocab_size=400, **GPT2)))
    parts.captioner(decoder=longer).tried()
    assert built[4:] == ["captioner"]
