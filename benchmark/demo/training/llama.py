"""A small Llama: the language model that SBA conditions on one soft token (ICC paper, section 2 and appendix A.7)."""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from benchmark.demo.training.data import HELD_OUT
from benchmark.demo.training.documents import documents
from benchmark.demo.training.export import save_transformers
from benchmark.demo.training.loop import Recipe, Tensors, fit, seeded, shuffled
from benchmark.demo.training.masked_lm import IGNORED
from benchmark.demo.training.tokenizers import llama_tokenizer


@dataclass(frozen=True)
class LlamaTraining:
    """Shape and recipe of the small Llama, and the number of training documents.

    It is wide for its depth, because one soft token has to carry the content of a whole caption.
    """

    width: int = 160
    inner: int = 384
    layers: int = 2
    heads: int = 5
    positions: int = 128
    vocabulary: int = 2048
    documents: int = 60_000
    recipe: Recipe = field(default_factory=lambda: Recipe(steps=3000, batch=32, lr=3e-3))


def train(out: Path, config: LlamaTraining, device: torch.device) -> None:
    """Train tokenizer and language model on documents about captions of all kinds and write them to `out`."""
    from transformers import LlamaConfig, LlamaForCausalLM

    recipe = config.recipe
    texts = documents("llm", config.documents, recipe.seed, workers=recipe.workers)
    lines = [line for text in texts for line in text.split("\n")]
    tokenizer = llama_tokenizer(lines, config.vocabulary, config.positions)
    shape = LlamaConfig(
        vocab_size=len(tokenizer),
        hidden_size=config.width,
        intermediate_size=config.inner,
        num_hidden_layers=config.layers,
        num_attention_heads=config.heads,
        max_position_embeddings=config.positions,
        tie_word_embeddings=True,
        initializer_range=0.08,  # the usual 0.02 suits wide layers; with it narrow ones learn nothing for many steps
        bos_token_id=tokenizer.bos_token_id,
        eos_token_id=tokenizer.eos_token_id,
        pad_token_id=tokenizer.pad_token_id,
    )
    rows = _rows(tokenizer, texts)
    with seeded(recipe.seed):
        model = LlamaForCausalLM(shape)
        fit(model, _batches(rows, recipe), lambda batch: model(**batch).loss, recipe, device)
    save_transformers(model, out)
    tokenizer.save_pretrained(out)


def _rows(tokenizer: Any, texts: Sequence[str]) -> list[Tensor]:
    """Return the tokens of each document from <s> to </s>, truncated to the tokenizer's maximum length."""
    length = tokenizer.model_max_length
    return [torch.tensor([*ids, tokenizer.eos_token_id][:length]) for ids in tokenizer(list(texts)).input_ids]


def _batches(rows: Sequence[Tensor], recipe: Recipe) -> Iterator[Tensors]:
    """Yield batches of documents with similar lengths; in random batches more than half would be padding."""
    lengths = torch.tensor([len(row) for row in rows])
    generator = torch.Generator().manual_seed(recipe.seed)
    for window in torch.stack(list(shuffled(len(rows), recipe))).split(16):
        chosen = window.flatten()
        chosen = chosen[lengths[chosen].argsort(stable=True)].view(-1, recipe.batch)
        for i in torch.randperm(len(chosen), generator=generator):
            yield _padded([rows[row] for row in chosen[i]])


def _padded(rows: Sequence[Tensor]) -> Tensors:
    # No attention mask: with causal attention, no token attends to the padding after it.
    pad = torch.nn.utils.rnn.pad_sequence
    return {
        "input_ids": pad(list(rows), batch_first=True),
        "labels": pad(list(rows), batch_first=True, padding_value=IGNORED),
    }


@torch.no_grad()
def evaluate(folder: Path, samples: int, seed: int) -> dict[str, float]:
    """Return the perplexity per token of the model in `folder` on `samples` held-out documents.

    `uniform` is the perplexity of a uniform guess.
    """
    from transformers import AutoModelForCausalLM, AutoTokenizer

    model = AutoModelForCausalLM.from_pretrained(folder, local_files_only=True)
    tokenizer = AutoTokenizer.from_pretrained(folder, local_files_only=True)
    rows = _rows(tokenizer, documents("llm", samples, seed, HELD_OUT))
    total = tokens = 0.0
    for start in range(0, len(rows), 32):
        batch = _padded(rows[start : start + 32])
        scored = int((batch["labels"][:, 1:] != IGNORED).sum())
        total += model(**batch).loss.item() * scored
        tokens += scored
    return {"perplexity": math.exp(total / tokens), "uniform": model.config.vocab_size}
