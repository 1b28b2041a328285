"""A small BERT in the format of bert-base-uncased: the text tower of the dual encoder."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import torch
from torch import Tensor
from torch.nn.functional import cross_entropy

from tools.scale_models.data import captions
from tools.scale_models.export import save_transformers
from tools.scale_models.loop import Recipe, Tensors, by_length, fit, seeded
from tools.scale_models.masked_lm import IGNORED, WINDOW, mask
from tools.scale_models.tokenizers import bert_tokenizer


@dataclass(frozen=True)
class BertTraining:
    """Shape and recipe of the small BERT, and the number of training captions."""

    width: int = 128
    layers: int = 3
    heads: int = 4
    positions: int = 128
    vocabulary: int = 2560
    captions: int = 120_000
    recipe: Recipe = field(default_factory=lambda: Recipe(steps=5000, batch=64, lr=2e-3))


def train(out: Path, config: BertTraining, device: torch.device) -> None:
    """Train tokenizer and model on captions of all kinds, with both losses of BERT (Devlin et al. 2019, section 3.1).

    Next-sentence prediction on the halves of a caption trains the pooler, which bert-base-uncased has too.
    """
    from transformers import BertConfig, BertForPreTraining

    recipe = config.recipe
    texts = captions("models", config.captions, recipe.seed, workers=recipe.workers)
    tokenizer = bert_tokenizer(texts, config.vocabulary, config.positions)
    shape = BertConfig(
        vocab_size=len(tokenizer),
        hidden_size=config.width,
        num_hidden_layers=config.layers,
        num_attention_heads=config.heads,
        intermediate_size=4 * config.width,
        max_position_embeddings=config.positions,
        hidden_dropout_prob=0.0,
        attention_probs_dropout_prob=0.0,
    )
    with seeded(recipe.seed):
        model = BertForPreTraining(shape)
        batches = _batches(tokenizer, texts, recipe)
        fit(model, batches, lambda batch: _loss(model, batch), recipe, device)
    save_transformers(model, out)
    tokenizer.save_pretrained(out)


def _batches(tokenizer: Any, texts: Sequence[str], recipe: Recipe) -> Iterator[Tensors]:
    """Yield batches for `_loss`, alternately of halved captions (with `unrelated`) and of whole captions."""
    generator = torch.Generator().manual_seed(recipe.seed)
    for step, rows in enumerate(by_length(texts, recipe, WINDOW)):
        chosen = [texts[row] for row in rows]
        if step % 2:
            yield mask(
                tokenizer(chosen, padding=True, truncation=True, return_tensors="pt"), tokenizer, generator
            )
        else:
            firsts, seconds, unrelated = _halves(chosen, generator)
            batch = tokenizer(firsts, seconds, padding=True, truncation=True, return_tensors="pt")
            yield mask(batch, tokenizer, generator) | {"unrelated": unrelated}


def _halves(texts: Sequence[str], generator: torch.Generator) -> tuple[list[str], list[str], Tensor]:
    """Cut each text in two; every second text gets the end of the text before it and the label 1 (unrelated)."""
    firsts, seconds = [], []
    for text, fraction in zip(texts, torch.rand(len(texts), generator=generator).tolist(), strict=True):
        words = text.split()
        cut = round((0.25 + 0.5 * fraction) * len(words))
        firsts.append(" ".join(words[:cut]))
        seconds.append(" ".join(words[cut:]))
    unrelated = torch.arange(len(texts)) % 2
    paired = [seconds[i - 1] if swap else seconds[i] for i, swap in enumerate(unrelated.tolist())]
    return firsts, paired, unrelated


def _loss(model: Any, batch: Tensors) -> Tensor:
    inputs = {name: batch[name] for name in ("input_ids", "attention_mask", "token_type_ids")}
    output = model(**inputs)
    loss = cross_entropy(
        output.prediction_logits.flatten(0, 1), batch["labels"].flatten(), ignore_index=IGNORED
    )
    if "unrelated" in batch:
        loss = loss + cross_entropy(output.seq_relationship_logits, batch["unrelated"])
    return loss
