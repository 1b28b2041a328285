"""CLIP-SP: Stroop probing of a CLIP text encoder (Alper et al. 2023; ICC paper, appendix A.4)."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from benchmark.core.batch import Batch
from benchmark.core.devices import Device
from benchmark.core.errors import UserError
from filters.base import Filter, Scores
from filters.clip import ClipReader

SLOT, EMPTY = "[*]", ""


class ClipStroop(ClipReader, Filter):
    """Similarity of a prompt's embedding before and after a caption is inserted into it.

    score = mean over prompts of cos(CLIP(prompt with an empty slot), CLIP(prompt with the caption in its slot)), as
    in the code that Alper et al. released. The sign of the score follows the probe's definition; its correlation with
    concreteness may be negative (Table 3 gives absolute values).

    The ICC paper uses the prompts of Alper et al. except ``Alice giving the [*] to Bob`` and its reverse, and neither
    paper prints the list; the configuration holds substitutes, and ``filter.prompts`` replaces them.

    Args:
        model, pretrained, precision: the CLIP, see `ClipReader`.
        prompts: sentences, each with one slot ``[*]``.
    """

    needs = frozenset({"text"})

    def __init__(
        self, model: str, pretrained: str | None, prompts: Sequence[str], precision: str = "fp32"
    ) -> None:
        invalid = [prompt for prompt in prompts if prompt.count(SLOT) != 1 or prompt.strip() == SLOT]
        if invalid or not prompts:
            raise UserError(f"filter.prompts must be sentences, each with one slot {SLOT}, not {invalid}")
        super().__init__(model, pretrained, precision)
        self.prompts = list(prompts)
        self._empty = np.empty((0, 0), np.float32)

    def identity(self) -> dict[str, Any]:
        """Add the content of an empty slot."""
        return super().identity() | {"empty_slot": EMPTY}

    def setup(self, device: Device) -> None:
        """Load the model and embed the empty prompts. Raises `UserError` when the weights are missing."""
        super().setup(device)
        self._empty = self.clip.embed_texts([prompt.replace(SLOT, EMPTY) for prompt in self.prompts])

    def score(self, batch: Batch) -> Scores:
        """Return mean cosines of shape (n,); text beyond the model's context length is truncated."""
        filled = [prompt.replace(SLOT, text) for prompt in self.prompts for text in batch.texts]
        embedded = self.clip.embed_texts(filled).reshape(len(self.prompts), len(batch), -1)
        return np.asarray(np.einsum("pnd,pd->n", embedded, self._empty) / len(self.prompts), np.float32)
