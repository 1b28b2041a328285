"""PAC-S (Sarto et al. 2023): CLIPScore (Hessel et al. 2021) of another CLIP; with and without references."""

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

IMAGES_AT_ONCE = 32

Features = npt.NDArray[np.floating[Any]]
Scores = npt.NDArray[np.float64]


def pac_scores(
    clip: ClipModel, images: Features, candidates: Sequence[str], references: Sequence[Sequence[str]]
) -> tuple[Scores, Scores]:
    """Return PAC-S and RefPAC-S of n candidates, both (n,), given the features of their images, (n, d).

    PAC-S is the cosine of image and candidate, negative ones counted as 0, times a weight. RefPAC-S is its harmonic
    mean with the candidate's best cosine with a reference, negative ones counted as 0 too.
    """
    if not all(references):
        raise ValueError("every candidate must have a reference")
    owner = np.repeat(np.arange(len(candidates)), [len(group) for group in references])
    flat = [reference for group in references for reference in group]
    texts, others = (
        clip.embed_texts([PREFIX + text for text in captions]) for captions in (candidates, flat)
    )
    scores = PACSCORE_WEIGHT * _clipped_cosine(images, texts)
    best = np.zeros(len(candidates))
    np.maximum.at(best, owner, _clipped_cosine(texts[owner], others))
    total = scores + best
    return scores, np.divide(2 * scores * best, total, out=np.zeros_like(total), where=total > 0)


def _clipped_cosine(left: Features, right: Features) -> Scores:
    left, right = left.astype(np.float64), right.astype(np.float64)
    lengths = np.linalg.norm(left, axis=1) * np.linalg.norm(right, axis=1)
    cosine: Scores = np.maximum(np.einsum("nd,nd->n", left, right) / lengths, 0.0)
    return cosine


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
        plain: dict[ImageId, float] = {}
        referenced: dict[ImageId, float] = {}
        for pixels, part in corpus_batches(corpus, images, clip.processor, IMAGES_AT_ONCE, device):
            captions = list(part.candidates.values()), list(part.references.values())
            scores = pac_scores(clip, clip.embed_pixels(pixels), *captions)
            for table, values in zip((plain, referenced), scores, strict=True):
                table |= zip(part.candidates, values.tolist(), strict=True)
        return plain, referenced
