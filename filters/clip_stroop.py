"""CLIP-SP: Stroop probing of a CLIP text encoder (Alper et al. 2023; ICC paper, appendix A.4)."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import torch

from benchmark.core.batch import Batch
from benchmark.core.errors import UserError
from benchmark.models.clip_models import ClipModel, clip_revision, load_clip
from filters.base import Filter, Scores

SLOT = "[*]"


class ClipStroop(Filter):
    """How little a caption disturbs the embedding of the prompt that it is put into.

    score = mean over prompts of cos(CLIP(prompt), CLIP(prompt with the caption in its slot)), where the first is the
    text with the slot's own sign, as the authors' code embeds it. The sign of the score follows the probe's
    definition; which way it goes with concreteness is for the correlation to say (Table 3 gives absolute values).

    The ICC paper uses the prompts of Alper et al. less ``Alice giving the [*] to Bob`` and its reverse, and prints
    neither list; those of the configuration stand in for them, and ``filter.prompts`` replaces them.

    Args:
        model: an open_clip model, see `load_clip`.
        pretrained: its weights.
        prompts: sentences with one slot ``[*]`` each.
    """

    needs = frozenset({"text"})

    def __init__(self, model: str, pretrained: str | None, prompts: Sequence[str]) -> None:
        wrong = [prompt for prompt in prompts if prompt.count(SLOT) != 1 or prompt.strip() == SLOT]
        if wrong or not prompts:
            raise UserError(f"filter.prompts must be sentences with one slot {SLOT} each, not {wrong}")
        self.model = model
        self.pretrained = pretrained
        self.prompts = list(prompts)
        self._clip: ClipModel | None = None
        self._empty = np.empty((0, 0), np.float32)

    def identity(self) -> dict[str, Any]:
        """Add the revision of local weights."""
        return super().identity() | clip_revision(self.model)

    def setup(self, device: torch.device) -> None:
        """Load the model and embed the empty prompts; `UserError` if its weights cannot be had."""
        self._clip = load_clip(self.model, self.pretrained, device)
        self._empty = self._clip.embed_texts(self.prompts)

    def score(self, batch: Batch) -> Scores:
        """Return mean cosines of shape (n,); what exceeds the model's context is cut off."""
        assert self._clip is not None
        filled = [prompt.replace(SLOT, text) for prompt in self.prompts for text in batch.texts]
        embedded = self._clip.embed_texts(filled).reshape(len(self.prompts), len(batch), -1)
        return np.asarray(np.einsum("pnd,pd->n", embedded, self._empty) / len(self.prompts), np.float32)
