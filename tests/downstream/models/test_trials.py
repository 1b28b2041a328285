"""Checkpoints that do not fit are said in one line by a trial. `test_contract.py`: a model passes its trial once."""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import transformers as hf

from benchmark.core.errors import UserError
from benchmark.core.paths import cache_folder
from benchmark.models.checkpoints import find_checkpoint, revision, text_limit
from downstream.models.base import Downstream
from tests.downstream.tiny_models import (
    Checkpoints,
    built,
    edited,
    make,
    save_clip_architecture,
    save_decoder,
    save_processor,
    save_roberta,
)

TOKENS = 80  # more than any of the tiny models takes
LAYERS = {"hidden_size": 32, "num_hidden_layers": 1, "num_attention_heads": 4}
SIZES = {**LAYERS, "vocab_size": 400, "intermediate_size": 64}
OF_ROBERTA = {**SIZES, "max_position_embeddings": 34, "pad_token_id": 1}
OPT = hf.OPTConfig(**LAYERS, vocab_size=400, ffn_dim=64, word_embed_proj_dim=32)
BLOOM = hf.BloomConfig(vocab_size=400, hidden_size=32, n_layer=1, n_head=4)
FEW_WORDS = hf.GPT2Config(vocab_size=100, n_positions=64, n_embd=32, n_layer=1, n_head=4)
WITHOUT_CROSS_ATTENTION: dict[str, Callable[[], Any]] = {
    "opt": lambda: hf.OPTForCausalLM(OPT),
    "llama": lambda: hf.LlamaForCausalLM(hf.LlamaConfig(**SIZES)),
    "bloom": lambda: hf.BloomForCausalLM(BLOOM),
    "gpt_neox": lambda: hf.GPTNeoXForCausalLM(hf.GPTNeoXConfig(**SIZES)),
}


@pytest.fixture
def tiny(checkpoints: Checkpoints) -> Iterator[Checkpoints]:
    yield checkpoints
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
def test_a_decoder_without_cross_attention_is_named(tiny: Checkpoints, tmp_path: Path, family: str) -> None:
    decoder = str(save_decoder(tmp_path / "decoder", WITHOUT_CROSS_ATTENTION[family]()))
    typed = f"models.captioner.decoder={decoder} ({family}) must be"
    assert_named(make("captioner", tiny, decoder=decoder), typed, "with cross-attention", "choose a GPT-2")


def test_text_towers_that_do_not_fit_are_named(tiny: Checkpoints, tmp_path: Path) -> None:
    bloom = str(save_decoder(tmp_path / "bloom", hf.BloomModel(BLOOM)))
    unpadded = str(edited(tiny.bert, tmp_path / "bert", "tokenizer_config.json", pad_token=None))
    few = hf.RobertaModel(hf.RobertaConfig(**OF_ROBERTA | {"vocab_size": 100}))
    few_words = str(save_roberta(tmp_path / "few", few))
    for text, words in (
        (bloom, [" (bloom) must be", "a BERT or RoBERTa"]),
        (unpadded, ["no padding token", '"pad_token"']),
        (few_words, ["knows 100"]),
    ):
        model = make("locked", tiny, text_encoder=text, max_tokens=TOKENS)
        assert_named(model, f"models.dual_encoder.text={text}", *words)
    tokenizer = hf.AutoTokenizer.from_pretrained(tiny.gpt2)
    with pytest.raises(UserError, match="checkpoint a must have max_position_embeddings"):
        text_limit(tokenizer, hf.BloomModel(BLOOM), "checkpoint a")


def test_tokens_without_embeddings_are_named(tiny: Checkpoints, tmp_path: Path) -> None:
    decoder = str(save_decoder(tmp_path / "gpt2", hf.GPT2LMHeadModel(FEW_WORDS)))
    model = make("captioner", tiny, decoder=decoder, max_tokens=TOKENS)
    assert_named(model, f"models.captioner.decoder={decoder}", "knows 100")
    tower = {"context_length": 16, "vocab_size": 100, "width": 32, "heads": 4, "layers": 1}
    clip = str(save_clip_architecture(tmp_path / "clip", text_cfg=tower))
    model = make("clip_scratch", tiny, architecture=clip)
    assert_named(model, f"downstream.clip_scratch.architecture={clip}", "vocab_size=100")


def test_roberta_takes_its_positions_and_no_more(tiny: Checkpoints, tmp_path: Path) -> None:
    text = str(save_roberta(tmp_path / "text", hf.RobertaModel(hf.RobertaConfig(**OF_ROBERTA))))
    dual = built("locked", tiny, text_encoder=text, max_tokens=TOKENS)
    dual.tried()
    assert dual.collate.tokens(["a " * TOKENS])["input_ids"].shape == (1, 32)
    decoder = save_roberta(tmp_path / "decoder", hf.RobertaForCausalLM(hf.RobertaConfig(**OF_ROBERTA)))
    make("captioner", tiny, decoder=str(decoder), max_tokens=TOKENS).tried()


@pytest.mark.parametrize(
    ("kind", "argument", "setting"),
    [
        ("captioner", "encoder", "models.captioner.encoder"),
        ("locked", "image_encoder", "models.dual_encoder.image"),
        ("lstm_captioner", "encoder", "downstream.lstm_captioner.encoder"),
    ],
)
def test_image_towers_that_do_not_fit_are_named(
    tiny: Checkpoints, tmp_path: Path, kind: str, argument: str, setting: str
) -> None:
    vit = hf.ViTModel(hf.ViTConfig.from_pretrained(tiny.vit))
    widths = {"embedding_size": 8, "hidden_sizes": [8, 16], "depths": [1, 1], "layer_type": "basic"}
    large = hf.ViTImageProcessor(size={"height": 64, "width": 48})
    uncut = hf.CLIPImageProcessor(size={"shortest_edge": 32}, do_center_crop=False)
    config = "preprocessor_config.json"
    cases = (
        ("large", vit, large, ["takes (32), not 64 x 48 pixels", config]),
        ("uncut", vit, uncut, ["not 32 x 48 and 48 x 32", config]),
        ("widths", hf.ResNetModel(hf.ResNetConfig(**widths)), hf.ViTImageProcessor(), ["model of timm"]),
    )
    for name, model, processor, words in cases[: 2 if kind == "locked" else 3]:  # a dual encoder needs a ViT
        folder = tmp_path / name
        model.save_pretrained(folder)
        processor.save_pretrained(folder)
        assert_named(make(kind, tiny, **{argument: str(folder)}), f"{setting}={folder}", *words)


def test_a_size_that_the_model_takes_is_not_a_mistake(tiny: Checkpoints, tmp_path: Path) -> None:
    hf.Dinov2Model(hf.Dinov2Config(**LAYERS, image_size=56, patch_size=14)).save_pretrained(tmp_path)
    save_processor(tmp_path, 28)
    make("captioner", tiny, encoder=str(tmp_path)).tried()


def test_an_unexpected_error_is_not_a_mistake_of_the_user(
    tiny: Checkpoints, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*args: Any, **options: Any) -> None:
        raise ValueError("a fault")

    monkeypatch.setattr(hf.ViTModel, "forward", fail)
    with pytest.raises(ValueError, match="a fault"):
        make("locked", tiny).tried()
