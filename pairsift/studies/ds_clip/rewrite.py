"""Text to text: a language model rewrites captions, prompted with five examples (DS-CLIP, appendix A, Figure 1)."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import torch

from benchmark.core.batch import Sample
from benchmark.core.devices import default_dtype
from benchmark.core.errors import UserError
from benchmark.core.ranges import PositiveInt
from benchmark.models.checkpoints import FromCheckpoint, decode_greedily, load_model, load_pretrained
from pairsift.studies.ds_clip.caption_writer import Augmenter, first_words

PROMPT = "Rewrite this caption in details and no more than 77 words."
SYMBOL = "==>"  # between a caption and its rewrite
INSTANCES = 5  # examples per prompt
# Of a caption in the prompt: a single word without spaces could fill the model's context.
MAX_CHARACTERS = 1000
DEFAULT_CONTEXT = 2048  # LLaMA's context in tokens, for models whose config states none


class Rewrite(FromCheckpoint, Augmenter):
    """Rewrites captions with a causal language model, prompted with five origin-rewrite pairs and the caption.

    Args:
        checkpoint: hub name or folder of a base model with its tokenizer.
        examples: origin-rewrite pairs, of which each prompt has five, sampled with the uid as random seed.
        max_new_tokens: maximum length of a rewrite in tokens, limited to half of the model's context.

    Raises `UserError` if there are fewer than five examples, or one is not a pair of single-line texts.
    """

    def __init__(
        self,
        checkpoint: str,
        examples: Sequence[Sequence[str]],
        max_new_tokens: PositiveInt = 128,
        batch_size: PositiveInt = 32,
    ) -> None:
        if len(examples) < INSTANCES:
            raise UserError(f"augmentation.examples has {len(examples)} pairs; give at least {INSTANCES}")
        for pair in examples:
            if len(pair) != 2 or any("\n" in text for text in pair):
                raise UserError(
                    f"augmentation.examples: {pair} must be a pair [origin, rewrite] of single-line texts"
                )
        self.checkpoint = checkpoint
        self.examples = [tuple(pair) for pair in examples]
        self.max_new_tokens = max_new_tokens
        self._batch_size = batch_size
        self._model: Any = None
        self._tokenizer: Any = None
        self._ends: list[int] = []

    def identity(self) -> dict[str, Any]:
        """Add the prompt."""
        return super().identity() | {"prompt": [PROMPT, SYMBOL, INSTANCES]}

    def setup(self, device: torch.device) -> None:
        """Load model and tokenizer. Raises `UserError` if the checkpoint is missing or of another model type."""
        # Left padding, so that generated tokens follow the prompt directly; left truncation, so that a prompt too
        # long for the model loses examples, not the caption.
        self._tokenizer = load_pretrained(
            "AutoTokenizer", self.checkpoint, padding_side="left", truncation_side="left"
        )
        if self._tokenizer.pad_token is None:
            self._tokenizer.pad_token = self._tokenizer.eos_token
        dtype = default_dtype(device)
        self._model = load_model("AutoModelForCausalLM", self.checkpoint, dtype=dtype).to(device).eval()
        tokens = self._tokenizer.batch_decode([[token] for token in range(len(self._tokenizer))])
        newlines = [token for token, text in enumerate(tokens) if "\n" in text]
        self._ends = [*newlines, *({self._tokenizer.eos_token_id} - {None})]

    def captions(self, samples: Sequence[Sample]) -> list[str]:
        """Return one rewrite per sample; prompts of similar length share a batch."""
        prompts = [self.prompt(sample) for sample in samples]
        order = sorted(range(len(prompts)), key=lambda row: len(prompts[row]))
        rewrites = [""] * len(prompts)
        for start in range(0, len(order), self._batch_size):
            rows = order[start : start + self._batch_size]
            for row, text in zip(rows, self._decode([prompts[row] for row in rows]), strict=True):
                rewrites[row] = first_words(text.split("\n")[0])
        return rewrites

    def prompt(self, sample: Sample) -> str:
        """Return the prompt: five examples, the instruction and the caption; the layout is not given in the paper."""
        rng = np.random.default_rng(int(sample.uid, 16))
        sampled = [self.examples[number] for number in rng.permutation(len(self.examples))[:INSTANCES]]
        instances = [f"{origin} {SYMBOL} {rewrite}" for origin, rewrite in sampled]
        caption = first_words(sample.text)[:MAX_CHARACTERS]
        return "\n".join([*instances, PROMPT, f"{caption} {SYMBOL}"])

    @torch.inference_mode()
    def _decode(self, prompts: list[str]) -> list[str]:
        context = getattr(self._model.config, "max_position_embeddings", DEFAULT_CONTEXT)
        max_new_tokens = min(self.max_new_tokens, context // 2)
        inputs = self._tokenizer(
            prompts, padding=True, truncation=True, max_length=context - max_new_tokens, return_tensors="pt"
        ).to(self._model.device)
        length = inputs["input_ids"].shape[1]
        ids = decode_greedily(
            self._model,
            input_ids=inputs["input_ids"],
            attention_mask=inputs["attention_mask"],
            max_new_tokens=max_new_tokens,
            eos_token_id=self._ends,
            pad_token_id=self._tokenizer.pad_token_id,
        )
        return list(self._tokenizer.batch_decode(ids[:, length:], skip_special_tokens=True))
