"""Text to text: a language model rewrites captions after five examples (DS-CLIP, appendix A, Figure 1)."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import torch

from benchmark.core.batch import Sample
from benchmark.core.errors import UserError
from benchmark.models.checkpoints import locate_checkpoint, quiet_transformers, revision
from benchmark.studies.augmentation.base import Augmenter, first_words
from downstream.models.base import load_pretrained

PROMPT = "Rewrite this caption in detail and no more than 77 words."
SYMBOL = "==>"
INSTANCES = 5
LONGEST_CAPTION = 1000  # characters of its 77 words, or one without a space would fill the model's context
CONTEXT = 2048  # tokens, for a model that states no limit: LLaMA's


class Rewrite(Augmenter):
    """A causal language model, shown five origin-rewrite pairs and then the caption.

    Args:
        checkpoint: hub name or folder of a base model with its tokenizer.
        examples: origin-rewrite pairs that each caption draws its five from, seeded by its uid.
        max_new_tokens: where a rewrite that does not end is cut; half of the model's context at most.
        batch_size: captions decoded at once.

    Raises:
        UserError: for fewer than five examples, or one that is no pair of lines.
    """

    def __init__(
        self,
        checkpoint: str,
        examples: Sequence[Sequence[str]],
        max_new_tokens: int = 128,
        batch_size: int = 32,
    ) -> None:
        if len(examples) < INSTANCES:
            raise UserError(
                f"augmentation.examples holds {len(examples)} pairs; give {INSTANCES} or more to draw from"
            )
        for pair in examples:
            if len(pair) != 2 or any("\n" in text for text in pair):
                raise UserError(
                    f"augmentation.examples: {pair} is no pair [origin, rewrite], each on one line"
                )
        self.checkpoint = checkpoint
        self.examples = [tuple(pair) for pair in examples]
        self.max_new_tokens = max_new_tokens
        self._batch_size = batch_size
        self._model: Any = None
        self._tokenizer: Any = None
        self._ends: list[int] = []

    def identity(self) -> dict[str, Any]:
        """Add the checkpoint's revision, and the prompt."""
        return super().identity() | {
            "revision": revision(locate_checkpoint(self.checkpoint)),
            "prompt": [PROMPT, SYMBOL, INSTANCES],
        }

    def setup(self, device: torch.device) -> None:
        """Load model and tokenizer. Raises `UserError` when they cannot be had, or are others."""
        from transformers import AutoModelForCausalLM, AutoTokenizer

        # What is written follows its prompt only where padding stands before it; of a prompt that is too long for the
        # model the first instances go, not the caption.
        self._tokenizer = load_pretrained(
            AutoTokenizer, self.checkpoint, padding_side="left", truncation_side="left"
        )
        if self._tokenizer.pad_token is None:
            self._tokenizer.pad_token = self._tokenizer.eos_token
        dtype = torch.bfloat16 if device.type == "cuda" else torch.float32
        self._model = load_pretrained(AutoModelForCausalLM, self.checkpoint, dtype=dtype).to(device).eval()
        tokens = self._tokenizer.batch_decode([[token] for token in range(len(self._tokenizer))])
        newlines = [token for token, text in enumerate(tokens) if "\n" in text]
        self._ends = [*newlines, *({self._tokenizer.eos_token_id} - {None})]

    def captions(self, samples: Sequence[Sample]) -> list[str]:
        """Return one rewrite a sample; those of like length are decoded together."""
        prompts = [self.prompt(sample) for sample in samples]
        order = sorted(range(len(prompts)), key=lambda row: len(prompts[row]))
        written = [""] * len(prompts)
        for start in range(0, len(order), self._batch_size):
            rows = order[start : start + self._batch_size]
            for row, text in zip(rows, self._decode([prompts[row] for row in rows]), strict=True):
                written[row] = first_words(text.split("\n")[0])
        return written

    def prompt(self, sample: Sample) -> str:
        """Return five instances, the instruction, and the caption; the paper names these parts, not their layout."""
        rng = np.random.default_rng(int(sample.uid, 16))
        drawn = [self.examples[number] for number in rng.permutation(len(self.examples))[:INSTANCES]]
        instances = [f"{origin} {SYMBOL} {rewrite}" for origin, rewrite in drawn]
        caption = first_words(sample.text)[:LONGEST_CAPTION]
        return "\n".join([*instances, PROMPT, f"{caption} {SYMBOL}"])

    @torch.inference_mode()
    def _decode(self, prompts: list[str]) -> list[str]:
        context = getattr(self._model.config, "max_position_embeddings", CONTEXT)
        room = min(self.max_new_tokens, context // 2)
        inputs = self._tokenizer(
            prompts, padding=True, truncation=True, max_length=context - room, return_tensors="pt"
        ).to(self._model.device)
        length = inputs["input_ids"].shape[1]
        with quiet_transformers():
            ids = self._model.generate(
                input_ids=inputs["input_ids"],
                attention_mask=inputs["attention_mask"],
                do_sample=False,
                temperature=None,
                top_p=None,
                top_k=None,
                max_new_tokens=room,
                eos_token_id=self._ends,
                pad_token_id=self._tokenizer.pad_token_id,
            )
        return list(self._tokenizer.batch_decode(ids[:, length:], skip_special_tokens=True))
