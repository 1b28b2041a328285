"""A small BERT in the format of bert-base-uncased: the text tower of the dual encoder."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import partial
from itertools import chain
from pathlib import Path
from typing import Any

import torch
from torch import Tensor
from torch.nn.functional import cross_entropy

from benchmark.demo.training.data import captions
from benchmark.demo.training.described_scenes import described_scenes
from benchmark.demo.training.export import save_transformers
from benchmark.demo.training.loop import Recipe, Tensors, by_length, fit, seeded, shuffled
from benchmark.demo.training.masked_lm import IGNORED, WINDOW, mask
from benchmark.demo.training.tokenizers import bert_tokenizer


@dataclass(frozen=True)
class BertTraining:
    """Shape and recipe of the small BERT, and the numbers of training captions and of described scenes."""

    width: int = 128
    layers: int = 3
    heads: int = 4
    positions: int = 128
    vocabulary: int = 2560
    captions: int = 120_000
    scenes: int = 40_000
    recipe: Recipe = field(default_factory=lambda: Recipe(steps=5000, batch=64, lr=2e-3))


def train(out: Path, config: BertTraining, device: torch.device) -> None:
    """Train tokenizer and model on captions and described scenes, with both losses of BERT (Devlin et al. 2019, 3.1).

    The sentence pairs of next-sentence prediction are two descriptions, of one scene or of two.
    """
    from transformers import BertConfig, BertForPreTraining

    recipe = config.recipe
    texts = captions("models", config.captions, recipe.seed, workers=recipe.workers)
    described = described_scenes(config.scenes, recipe.seed, workers=recipe.workers)
    tokenizer = bert_tokenizer([*texts, *chain.from_iterable(described)], config.vocabulary, config.positions)
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
        batches = _batches(tokenizer, texts, described, recipe)
        fit(model, batches, lambda batch: _loss(model, batch), recipe, device)
    save_transformers(model, out)
    tokenizer.save_pretrained(out)


def _batches(
    tokenizer: Any, texts: Sequence[str], described: Sequence[Sequence[str]], recipe: Recipe
) -> Iterator[Tensors]:
    """Yield batches for `_loss`, alternately of two descriptions each (with `unrelated`) and of captions."""
    encode = partial(tokenizer, padding=True, truncation=True, return_tensors="pt")
    generator = torch.Generator().manual_seed(recipe.seed)
    of_scenes, of_texts = shuffled(len(described), recipe), by_length(texts, recipe, WINDOW)
    for step, (scenes, rows) in enumerate(zip(of_scenes, of_texts, strict=True)):
        if step % 2:
            yield mask(encode([texts[row] for row in rows]), tokenizer, generator)
        else:
            firsts, seconds, unrelated = sentence_pairs([described[scene] for scene in scenes])
            yield mask(encode(firsts, seconds), tokenizer, generator) | {"unrelated": unrelated}


def sentence_pairs(described: Sequence[Sequence[str]]) -> tuple[list[str], list[str], Tensor]:
    """Return a description of each scene, a second one, and whether they are unrelated (1) or not (0).

    Every second scene gets the second description of the scene before it.
    """
    unrelated = torch.arange(len(described)) % 2
    seconds = [described[i - swap][1] for i, swap in enumerate(unrelated.tolist())]
    return [scene[0] for scene in described], seconds, unrelated


def _loss(model: Any, batch: Tensors) -> Tensor:
    inputs = {name: batch[name] for name in ("input_ids", "attention_mask", "token_type_ids")}
    output = model(**inputs)
    loss = cross_entropy(
        output.prediction_logits.flatten(0, 1), batch["labels"].flatten(), ignore_index=IGNORED
    )
    if "unrelated" in batch:
        loss = loss + cross_entropy(output.seq_relationship_logits, batch["unrelated"])
    return loss
