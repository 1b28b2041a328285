"""CLIPScore (Hessel et al. 2021) and PAC-S (Sarto et al. 2023), with and without references.

The two share the formula; PAC-S is another CLIP and another weight. Features may be of any length: they are
normalised here.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt
import torch
from PIL import Image

from benchmark.core.errors import UserError

# The prefix stands before every candidate and every reference, in both papers.
from benchmark.models.pac_clip import PACSCORE_WEIGHT as PACSCORE_WEIGHT
from benchmark.models.pac_clip import PREFIX as PREFIX
from benchmark.models.pac_clip import load_pac_clip, locate_pac_checkpoint, pac_revision
from downstream.metrics.metric import Corpus, ImageId, UnavailableError

CLIPSCORE_WEIGHT = 2.5
IMAGES_AT_ONCE = 32

Features = npt.NDArray[np.floating[Any]]
Scores = npt.NDArray[np.float64]


def clip_score(images: Features, candidates: Features, weight: float = CLIPSCORE_WEIGHT) -> Scores:
    """Return ``weight * max(cos(image, candidate), 0)`` of each pair; both (n, d), result (n,)."""
    return weight * _clipped_cosine(images, candidates)


def ref_clip_score(
    scores: Scores, candidates: Features, references: Features, reference_owner: npt.NDArray[np.integer[Any]]
) -> Scores:
    """Return the harmonic mean of each score and its candidate's best clipped cosine with a reference.

    Args:
        scores: `clip_score` of the n candidates, shape (n,).
        candidates: text features (n, d).
        references: text features of all references (m, d).
        reference_owner: the index of the candidate each reference belongs to, (m,).
    """
    best = np.full(len(candidates), -np.inf)
    np.maximum.at(best, reference_owner, _clipped_cosine(candidates[reference_owner], references))
    if np.isneginf(best).any():
        raise ValueError("every candidate needs a reference")
    total = scores + best
    result: Scores = np.divide(2 * scores * best, total, out=np.zeros_like(total), where=total > 0)
    return result


def _clipped_cosine(left: Features, right: Features) -> Scores:
    left, right = left.astype(np.float64), right.astype(np.float64)
    lengths = np.linalg.norm(left, axis=1) * np.linalg.norm(right, axis=1)
    cosine: Scores = np.maximum(np.einsum("nd,nd->n", left, right) / lengths, 0.0)
    return cosine


class Embedder(Protocol):
    """A CLIP: features of images and of captions, (n, d)."""

    def embed_images(self, images: Sequence[Image.Image]) -> npt.NDArray[np.float32]:
        """Return the features of images."""

    def embed_texts(self, texts: Sequence[str]) -> npt.NDArray[np.float32]:
        """Return the features of captions."""


@dataclass(frozen=True)
class ClipScorer:
    """CLIPScore with a given CLIP; PAC-S with PAC-S' CLIP and ``weight=PACSCORE_WEIGHT``."""

    clip: Embedder
    weight: float = CLIPSCORE_WEIGHT

    def score(
        self, images: Sequence[Image.Image], candidates: Sequence[str], references: Sequence[Sequence[str]]
    ) -> tuple[Scores, Scores]:
        """Return the scores of one batch without and with references, both (n,)."""
        texts = self._embed(candidates)
        scores = clip_score(self.clip.embed_images(images), texts, self.weight)
        owner = np.repeat(np.arange(len(candidates)), [len(group) for group in references])
        flat = [reference for group in references for reference in group]
        return scores, ref_clip_score(scores, texts, self._embed(flat), owner)

    def _embed(self, captions: Sequence[str]) -> npt.NDArray[np.float32]:
        return self.clip.embed_texts([PREFIX + caption for caption in captions])


@dataclass(frozen=True)
class PacScoreConfig:
    """The CLIP that was fine-tuned, as open_clip's ``(model, pretrained)``, and the checkpoint (None: not here)."""

    model: str
    pretrained: str | None = None
    checkpoint: str | None = None

    def revision(self) -> str:
        """Return what identifies the weights. Raises `UnavailableError` if they cannot be had."""
        try:
            return "-".join(pac_revision(self.model, self.checkpoint).values())
        except UserError as error:
            raise UnavailableError(str(error)) from None

    def load(self, device: torch.device) -> ClipScorer:
        """Load the scorer.

        Raises:
            UnavailableError: the checkpoint is not here.
            UserError: it does not fit the model.
        """
        try:
            locate_pac_checkpoint(self.checkpoint)
        except UserError as error:
            raise UnavailableError(str(error)) from None
        clip = load_pac_clip(self.model, self.pretrained, self.checkpoint, device)
        return ClipScorer(clip, PACSCORE_WEIGHT)


def pac_score(
    corpus: Corpus, images: Mapping[ImageId, Image.Image], config: PacScoreConfig, device: torch.device
) -> tuple[dict[ImageId, float], dict[ImageId, float]]:
    """Return each image's PAC-S and RefPAC-S; the metrics are their means.

    `images` may decode on access; few are held at a time. Raises as `PacScoreConfig.load` does.
    """
    scorer = config.load(device)
    ids = list(corpus.candidates)
    plain: dict[ImageId, float] = {}
    referenced: dict[ImageId, float] = {}
    for start in range(0, len(ids), IMAGES_AT_ONCE):
        part = corpus.subset(ids[start : start + IMAGES_AT_ONCE])
        scores = scorer.score(
            [images[image] for image in part.candidates],
            list(part.candidates.values()),
            list(part.references.values()),
        )
        for table, values in zip((plain, referenced), scores, strict=True):
            table |= zip(part.candidates, values.tolist(), strict=True)
    return plain, referenced
