"""A small Llama: the language model that SBA conditions on one soft token (ICC paper, section 2 and appendix A.7)."""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn

from tools.scale_models.data import HELD_OUT, captions
from tools.scale_models.documents import END, documents
from tools.scale_models.export import save_transformers
from tools.scale_models.loop import Recipe, Tensors, by_length, fit, seeded
from tools.scale_models.masked_lm import IGNORED
from tools.scale_models.summaries import WINDOW, Summarizer, summary_batches, summary_loss
from tools.scale_models.tokenizers import llama_tokenizer

DOCUMENTS_WEIGHT = 0.25  # weight of the documents' loss; the loss of captions from summaries has weight 1


@dataclass(frozen=True)
class LlamaTraining:
    """Shape and recipe of the small Llama, and the number of training captions.

    It is wide for its depth, because one soft token has to carry the content of a whole caption. A step has
    `recipe.batch` captions to write from their summaries, and `documents` documents.
    """

    width: int = 160
    inner: int = 384
    layers: int = 2
    heads: int = 5
    positions: int = 128
    vocabulary: int = 2048
    captions: int = 80_000
    documents: int = 8
    recipe: Recipe = field(default_factory=lambda: Recipe(steps=4500, batch=64, lr=3e-3))


def train(out: Path, config: LlamaTraining, device: torch.device) -> None:
    """Train tokenizer and language model on captions of all kinds and write them to `out`."""
    from transformers import LlamaForCausalLM

    recipe = config.recipe
    texts = captions("llm", config.captions, recipe.seed, workers=recipe.workers)
    tokenizer = llama_tokenizer(texts, config.vocabulary, config.positions)
    with seeded(recipe.seed):
        model: Any = LlamaForCausalLM(_shape(config, tokenizer))
        trained = nn.ModuleList([model, Summarizer(config.width)])
        batches = _batches(tokenizer, texts, config)
        fit(trained, batches, lambda batch: _loss(model, trained[1], batch), recipe, device)
    save_transformers(model, out)
    tokenizer.save_pretrained(out)


def _shape(config: LlamaTraining, tokenizer: Any) -> Any:
    from transformers import LlamaConfig

    return LlamaConfig(
        vocab_size=len(tokenizer),
        hidden_size=config.width,
        intermediate_size=config.inner,
        num_hidden_layers=config.layers,
        num_attention_heads=config.heads,
        max_position_embeddings=config.positions,
        tie_word_embeddings=True,
        initializer_range=0.08,  # the usual 0.02 suits wide layers; with it narrow layers learn nothing for long
        bos_token_id=tokenizer.bos_token_id,
        eos_token_id=tokenizer.eos_token_id,
        pad_token_id=tokenizer.pad_token_id,
    )


def _batches(tokenizer: Any, texts: Sequence[str], config: LlamaTraining) -> Iterator[Tensors]:
    """Yield batches of captions with their summaries, and of documents."""
    end = len(tokenizer(END, add_special_tokens=False).input_ids)
    lines = [f"{text}{END}" for text in texts]
    limit = config.positions - 2  # BOS and the summary precede a caption
    rows = [torch.tensor(ids[:limit]) for ids in tokenizer(lines, add_special_tokens=False).input_ids]
    pages = _rows(tokenizer, documents(texts, config.recipe.seed))
    summaries = summary_batches(rows, end, config.recipe)
    of_documents = by_length(pages, replace(config.recipe, batch=config.documents), WINDOW)
    for summary, chosen in zip(summaries, of_documents, strict=True):
        yield {**summary, **_padded([pages[row] for row in chosen])}


def _loss(model: Any, summarizer: Any, batch: Tensors) -> Tensor:
    documents_loss: Tensor = model(input_ids=batch["input_ids"], labels=batch["labels"]).loss
    return summary_loss(model, summarizer, batch) + DOCUMENTS_WEIGHT * documents_loss


def _rows(tokenizer: Any, texts: Sequence[str]) -> list[Tensor]:
    """Return the tokens of each document from <s> to </s>, truncated to the tokenizer's maximum length."""
    length = tokenizer.model_max_length
    return [torch.tensor([*ids, tokenizer.eos_token_id][:length]) for ids in tokenizer(list(texts)).input_ids]


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
    rows = _rows(tokenizer, documents(captions("llm", samples, seed, HELD_OUT), seed))
    total = tokens = 0.0
    for start in range(0, len(rows), 32):
        batch = _padded(rows[start : start + 32])
        scored = int((batch["labels"][:, 1:] != IGNORED).sum())
        total += model(**batch).loss.item() * scored
        tokens += scored
    return {"perplexity": math.exp(total / tokens), "uniform": model.config.vocab_size}
