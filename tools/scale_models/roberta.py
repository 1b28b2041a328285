"""A small RoBERTa in the format of distilbert/distilroberta-base, the base of ICC's distilled scorer."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import torch

from tools.scale_models.data import captions
from tools.scale_models.export import save_transformers
from tools.scale_models.loop import Recipe, Tensors, by_length, fit, seeded
from tools.scale_models.masked_lm import WINDOW, mask
from tools.scale_models.tokenizers import roberta_tokenizer


@dataclass(frozen=True)
class RobertaTraining:
    """Shape and recipe of the small RoBERTa, and the number of training captions."""

    width: int = 96
    layers: int = 2
    heads: int = 4
    positions: int = 128
    vocabulary: int = 2048
    captions: int = 120_000
    recipe: Recipe = field(default_factory=lambda: Recipe(steps=5000, batch=64, lr=3e-3))


def train(out: Path, config: RobertaTraining, device: torch.device) -> None:
    """Train tokenizer and model on captions of all kinds, by masked language modelling only (Liu et al. 2019)."""
    from transformers import RobertaConfig, RobertaForMaskedLM

    recipe = config.recipe
    texts = captions("models", config.captions, recipe.seed, workers=recipe.workers)
    tokenizer = roberta_tokenizer(texts, config.vocabulary, config.positions)
    shape = RobertaConfig(
        vocab_size=len(tokenizer),
        hidden_size=config.width,
        num_hidden_layers=config.layers,
        num_attention_heads=config.heads,
        intermediate_size=4 * config.width,
        # RoBERTa's first position is the id of the padding token plus 1.
        max_position_embeddings=config.positions + tokenizer.pad_token_id + 1,
        type_vocab_size=1,
        hidden_dropout_prob=0.0,
        attention_probs_dropout_prob=0.0,
        initializer_range=0.1,  # the usual 0.02 suits wide layers; with it narrow layers learn nothing for long
    )
    with seeded(recipe.seed):
        model = RobertaForMaskedLM(shape)
        fit(model, _batches(tokenizer, texts, recipe), lambda batch: model(**batch).loss, recipe, device)
    save_transformers(model, out)
    tokenizer.save_pretrained(out)


def _batches(tokenizer: Any, texts: Sequence[str], recipe: Recipe) -> Iterator[Tensors]:
    generator = torch.Generator().manual_seed(recipe.seed)
    for rows in by_length(texts, recipe, WINDOW):
        chosen = [texts[row] for row in rows]
        yield mask(
            tokenizer(chosen, padding=True, truncation=True, return_tensors="pt"), tokenizer, generator
        )
