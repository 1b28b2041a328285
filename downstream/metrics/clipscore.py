"""CLIPScore (Hessel et al. 2021) and PAC-S (Sarto et al. 2023), with and without references.

Both use the same formula; PAC-S has another CLIP and another weight. Features need not be normalised.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from benchmark.core.errors import UserError
from benchmark.core.pixel_workers import Loadable
from benchmark.core.requirements import Requirement, State
from benchmark.models.pac_clip import (
    PAC_WEIGHTS,
    PACSCORE_WEIGHT,
    PREFIX,
    load_pac_clip,
    locate_pac_checkpoint,
    pac_requirements,
    pac_revision,
)
from downstream.metrics.base import CaptionMetric, Request, Table, corpus_batches
from downstream.metrics.metric import Corpus, ImageId, UnavailableError, library

if TYPE_CHECKING:
    import torch

    from benchmark.models.clip_models import ClipModel

CLIPSCORE_WEIGHT = 2.5
IMAGES_AT_ONCE = 32

Features = npt.NDArray[np.floating[Any]]
Scores = npt.NDArray[np.float64]


def clip_score(images: Features, candidates: Features, weight: float = CLIPSCORE_WEIGHT) -> Scores:
    """Return ``weight * max(cos(image, candidate), 0)`` of each pair of rows, (n, d) and (n, d), as (n,)."""
    return weight * _clipped_cosine(images, candidates)


def ref_clip_score(
    scores: Scores, candidates: Features, references: Features, reference_owner: npt.NDArray[np.integer[Any]]
) -> Scores:
    """Return the harmonic mean of each score and its candidate's best clipped cosine with a reference.

    Args:
        scores: `clip_score` of the n candidates, shape (n,).
        candidates: text features (n, d).
        references: text features of all references (m, d).
        reference_owner: index of each reference's candidate, (m,).
    """
    best = np.full(len(candidates), -np.inf)
    np.maximum.at(best, reference_owner, _clipped_cosine(candidates[reference_owner], references))
    if np.isneginf(best).any():
        raise ValueError("every candidate must have a reference")
    total = scores + best
    result: Scores = np.divide(2 * scores * best, total, out=np.zeros_like(total), where=total > 0)
    return result


def _clipped_cosine(left: Features, right: Features) -> Scores:
    left, right = left.astype(np.float64), right.astype(np.float64)
    lengths = np.linalg.norm(left, axis=1) * np.linalg.norm(right, axis=1)
    cosine: Scores = np.maximum(np.einsum("nd,nd->n", left, right) / lengths, 0.0)
    return cosine


@dataclass(frozen=True)
class ClipScorer:
    """CLIPScore with any CLIP; PAC-S with its own CLIP and ``weight=PACSCORE_WEIGHT``."""

    clip: ClipModel
    weight: float = CLIPSCORE_WEIGHT

    def score(
        self, images: Features, candidates: Sequence[str], references: Sequence[Sequence[str]]
    ) -> tuple[Scores, Scores]:
        """Return the scores of a batch, given the features of its images, without and with references, both (n,)."""
        texts = self._embed(candidates)
        scores = clip_score(images, texts, self.weight)
        owner = np.repeat(np.arange(len(candidates)), [len(group) for group in references])
        flat = [reference for group in references for reference in group]
        return scores, ref_clip_score(scores, texts, self._embed(flat), owner)

    def _embed(self, captions: Sequence[str]) -> npt.NDArray[np.float32]:
        return self.clip.embed_texts([PREFIX + caption for caption in captions])


@dataclass(frozen=True)
class PacScore(CaptionMetric):
    """PAC-S and RefPAC-S."""

    names = ("PAC-S", "RefPAC-S")
    unit = "score"
    model: str  # name of the CLIP that was fine-tuned, open_clip's
    pretrained: str | None  # open_clip's tag of the weights it started from, or a file
    checkpoint: str | None  # the fine-tuned weights; None if they are not on this machine

    def compute(self, request: Request) -> Table:
        """Return the means of each domain's images."""
        if request.images is None:
            raise UnavailableError("PAC-S needs the images, and none were given")
        plain, referenced = self.scores(request.corpus, request.images, request.device)
        with_references = request.means("RefPAC-S", referenced)
        return {name: row | with_references[name] for name, row in request.means("PAC-S", plain).items()}

    def requirements(self) -> Iterator[Requirement]:
        """Yield the weights."""
        for needed in pac_requirements(self.model, self.pretrained, self.checkpoint):
            own = needed.state is State.MISSING and needed.name == PAC_WEIGHTS
            yield replace(needed, state=State.WITHOUT) if own else needed

    def version(self) -> str:
        """Return the library and the revision of the weights."""
        try:
            weights = "-".join(pac_revision(self.model, self.checkpoint).values())
        except UserError:
            weights = "none"
        return f"{library('open-clip-torch')}, weights {weights}"

    def scores(
        self, corpus: Corpus, images: Mapping[ImageId, Loadable], device: torch.device
    ) -> tuple[dict[ImageId, float], dict[ImageId, float]]:
        """Return each image's PAC-S and RefPAC-S. 32 images are decoded at a time.

        Raises:
            UnavailableError: the checkpoint is not on this machine.
            UserError: it does not fit the model.
        """
        try:
            locate_pac_checkpoint(self.checkpoint)
        except UserError as error:
            raise UnavailableError(str(error)) from None
        clip = load_pac_clip(self.model, self.pretrained, self.checkpoint, device)
        scorer = ClipScorer(clip, PACSCORE_WEIGHT)
        plain: dict[ImageId, float] = {}
        referenced: dict[ImageId, float] = {}
        for pixels, part in corpus_batches(corpus, images, clip.preprocess, IMAGES_AT_ONCE, device):
            scores = scorer.score(
                clip.embed_pixels(pixels), list(part.candidates.values()), list(part.references.values())
            )
            for table, values in zip((plain, referenced), scores, strict=True):
                table |= zip(part.candidates, values.tolist(), strict=True)
        return plain, referenced
