"""BERTScore F1 (Zhang et al. 2019) with any encoder of the hub or of a folder."""

from __future__ import annotations

import csv
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from benchmark.core.errors import UserError
from benchmark.core.requirements import Requirement, State, look
from benchmark.models.bert_match import bert_requirement, load_bert_matcher
from benchmark.models.checkpoints import find_checkpoint, locate_checkpoint
from downstream.metrics.base import CaptionMetric, Request, Table, revision_or_none, without_unless
from downstream.metrics.metric import Corpus, ImageId, UnavailableError

if TYPE_CHECKING:
    import torch

# Embeddings are kept for so many images at a time: all 30,000 captions of COCO would take 2 GB.
IMAGES_AT_ONCE = 256


@dataclass(frozen=True)
class BertScore(CaptionMetric):
    """BERTScore F1, at most 1. bert-score's default for English is roberta-large, layer 17."""

    names = ("BERTScore",)
    unit = "score"
    model: str  # encoder, a hub name or folder
    num_layers: int  # the layer whose embeddings are compared
    baseline_path: str | None = None  # bert-score's baseline file to rescale with; None leaves F1 as it is

    def compute(self, request: Request) -> Table:
        """Return the mean of each domain's images."""
        means = request.means("BERTScore", self.scores(request.corpus, request.device))
        # The last bits depend on which texts are in a batch.
        return {
            domain: {name: round(mean, 6) if isinstance(mean, float) else mean for name, mean in row.items()}
            for domain, row in means.items()
        }

    def version(self) -> str:
        """Return the library that gives the same values, the layer, rescaled or not, and the encoder's revision."""
        rescaled = " rescaled" if self.baseline_path else ""
        return f"bert-score 0.3.13, layer {self.num_layers}{rescaled} of {revision_or_none(self.locate)}"

    def requirements(self) -> Iterator[Requirement]:
        """Yield the encoder, and the baseline file if there is one."""
        encoder = without_unless(f"encoder {Path(self.model).name}", partial(self.locate, find_checkpoint))
        # With the encoder there, too few layers are a mistake.
        there = encoder.state is State.PRESENT
        yield bert_requirement(self.model, self.num_layers) if there else encoder
        if self.baseline_path is not None:
            yield look("metrics.bertscore.baseline_path", self._baseline)

    def locate(self, locate: Callable[[str], Path] = locate_checkpoint) -> Path:
        """Return the encoder's folder. Raises `UnavailableError` if it cannot be had."""
        try:
            return locate(self.model)
        except UserError as error:
            raise UnavailableError(str(error)) from error

    def scores(self, corpus: Corpus, device: torch.device) -> dict[ImageId, float]:
        """Return each image's best F1 over its references.

        An empty candidate, or one without a non-empty reference, has F1 0 before rescaling, as in bert-score.
        Raises `UnavailableError` without the encoder, `UserError` for a layer or baseline it does not have.
        """
        matcher = load_bert_matcher(str(self.locate()), self.num_layers, device)
        baseline = self._baseline()
        images = list(corpus.candidates)
        best: dict[ImageId, float] = {}
        for start in range(0, len(images), IMAGES_AT_ONCE):
            pairs = [
                (image, corpus.candidates[image], reference)
                for image in images[start : start + IMAGES_AT_ONCE]
                for reference in corpus.references[image]
            ]
            f1 = matcher.f1([pair[1] for pair in pairs], [pair[2] for pair in pairs])
            for (image, _, _), score in zip(pairs, f1.tolist(), strict=True):
                best[image] = max(best.get(image, 0.0), score)
        return {image: (score - baseline) / (1 - baseline) for image, score in best.items()}

    def _baseline(self) -> float:
        """Return the F1 of unrelated sentences at the layer, from bert-score's file; 0 without one."""
        if self.baseline_path is None:
            return 0.0
        try:
            with Path(self.baseline_path).open(newline="") as file:
                rows = {int(row["LAYER"]): float(row["F"]) for row in csv.DictReader(file)}
            return rows[self.num_layers]
        except (OSError, KeyError, ValueError) as error:
            raise UserError(
                f"metrics.bertscore.baseline_path={self.baseline_path} must be a baseline file of bert-score with a"
                f" row for layer {self.num_layers} ({type(error).__name__}: {error})"
            ) from None
