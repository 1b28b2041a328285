"""A small GPT-2 in the format of openai-community/gpt2: the decoder of the captioner."""

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import chain
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from tools.scale_models.data import HELD_OUT, captions
from tools.scale_models.described_scenes import described_scenes
from tools.scale_models.export import save_transformers
from tools.scale_models.loop import Recipe, fit, seeded, shuffled
from tools.scale_models.tokenizers import gpt2_tokenizer


@dataclass(frozen=True)
class GPT2Training:
    """Shape and recipe of the small GPT-2, and the numbers of training captions and of described scenes."""

    width: int = 128
    layers: int = 3
    heads: int = 4
    positions: int = 128
    vocabulary: int = 8192  # 1.7 tokens a word; at 2,560 2.2, and the first token of most names is one letter
    captions: int = 200_000
    scenes: int = 40_000
    recipe: Recipe = field(default_factory=lambda: Recipe(steps=5000, batch=16, lr=2e-3))


def train(out: Path, config: GPT2Training, device: torch.device) -> None:
    """Train tokenizer and language model on captions of all kinds and on described scenes; write them to `out`."""
    from transformers import GPT2Config, GPT2LMHeadModel

    recipe = config.recipe
    described = described_scenes(config.scenes, recipe.seed, workers=recipe.workers)
    texts = captions("models", config.captions, recipe.seed, workers=recipe.workers)
    texts += chain.from_iterable(described)
    tokenizer = gpt2_tokenizer(texts, config.vocabulary, config.positions)
    shape = GPT2Config(
        vocab_size=len(tokenizer),
        n_positions=config.positions,
        n_embd=config.width,
        n_layer=config.layers,
        n_head=config.heads,
        bos_token_id=tokenizer.bos_token_id,
        eos_token_id=tokenizer.eos_token_id,
        resid_pdrop=0.0,
        embd_pdrop=0.0,
        attn_pdrop=0.0,
        # The usual 0.02 suits wide layers. The captioner's cross-attention starts from this range, too: with 0.02 it
        # adds so little at this width that the model memorises captions before it uses the image.
        initializer_range=0.1,
    )
    blocks = _blocks(tokenizer, texts, config.positions)
    batches = ({"input_ids": blocks[rows], "labels": blocks[rows]} for rows in shuffled(len(blocks), recipe))
    with seeded(recipe.seed):
        model = GPT2LMHeadModel(shape)
        fit(model, batches, lambda batch: model(**batch).loss, recipe, device)
    save_transformers(model, out)
    tokenizer.save_pretrained(out)


def _blocks(tokenizer: Any, texts: Sequence[str], length: int) -> Tensor:
    """Return the texts joined by <|endoftext|> and cut into blocks of `length` tokens, shape (n, length)."""
    stream: list[int] = []
    for ids in tokenizer(list(texts)).input_ids:
        stream += [tokenizer.eos_token_id, *ids]
    rows = len(stream) // length
    return torch.tensor(stream[: rows * length]).view(rows, length)


@torch.no_grad()
def evaluate(folder: Path, samples: int, seed: int) -> dict[str, float]:
    """Return the perplexity per token of the model in `folder` on `samples` held-out captions of all kinds.

    `uniform` is the perplexity of a uniform guess.
    """
    from transformers import AutoModelForCausalLM, AutoTokenizer

    model = AutoModelForCausalLM.from_pretrained(folder, local_files_only=True)
    tokenizer = AutoTokenizer.from_pretrained(folder, local_files_only=True)
    blocks = _blocks(tokenizer, captions("models", samples, seed, HELD_OUT), model.config.n_positions)
    losses = [model(input_ids=rows, labels=rows).loss.item() * len(rows) for rows in blocks.split(32)]
    return {"perplexity": math.exp(sum(losses) / len(blocks)), "uniform": model.config.vocab_size}
