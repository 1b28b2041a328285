"""Polos (Wada et al., CVPR 2024): a regressor of human judgement on SimCSE-RoBERTa and CLIP features.

A reimplementation that loads the authors' weights: the folder of their ``reprod.zip``, with a Lightning checkpoint
(RoBERTa, CLIP and regressor) and its ``hparams.yaml``. Their package needs Python 3.10.0 and transformers 4.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import yaml

from benchmark.core.errors import UserError
from benchmark.core.fetched_files import fetch_members
from benchmark.core.paths import user_path
from benchmark.core.pixel_workers import Loadable
from benchmark.core.requirements import NotFetchedError, OnFirstUseError, Requirement
from benchmark.models.checkpoints import find_checkpoint, locate_checkpoint
from downstream.metrics.base import (
    CaptionMetric,
    Request,
    Table,
    corpus_batches,
    revision_or_none,
    without_unless,
)
from downstream.metrics.metric import Corpus, ImageId, UnavailableError, library

if TYPE_CHECKING:
    import torch

URL = "https://polos-polaris.s3.ap-northeast-1.amazonaws.com/reprod.zip"
IMAGES_AT_ONCE = 32
# Settings of the released model in the authors' training config; other values would need another estimator.
PUBLISHED = {
    "encoder_model": "BERT",
    "layer": "mix",
    "pool": "cls",
    "activations": "Tanh",
    "final_activation": False,
}


@dataclass(frozen=True)
class Polos(CaptionMetric):
    """Polos, 0 to 1."""

    names = ("Polos",)
    unit = "score"
    checkpoint: str | None  # folder of the authors' weights; None if they are not on this machine
    # The RoBERTa whose tokenizer they use, a hub name or folder.
    encoder: str = "princeton-nlp/sup-simcse-roberta-base"

    def compute(self, request: Request) -> Table:
        """Return the mean of each domain's images."""
        if request.images is None:
            raise UnavailableError("Polos needs the images, and none were given")
        return request.means("Polos", self.scores(request.corpus, request.images, request.device))

    def version(self) -> str:
        """Return this project's version and the revision of the weights."""
        return f"{library('pairsift')}, weights {revision_or_none(lambda: self.locate()[0])}"

    def requirements(self) -> Iterator[Requirement]:
        """Yield the weights and the tokenizer."""
        yield without_unless("Polos weights", lambda: self.locate(find_checkpoint)[0])

    def locate(self, locate: Callable[[str], Path] = locate_checkpoint) -> tuple[Path, Path]:
        """Return the folders of weights and tokenizer. Raises `UnavailableError` if one cannot be had."""
        if self.checkpoint is None:
            raise UnavailableError(
                f"Polos needs its authors' weights: unzip {URL} and set models.polos.checkpoint to its folder;"
                " task=fetch with models.polos.checkpoint=FOLDER does so"
            )
        folder = user_path(self.checkpoint)
        if not any(folder.glob("*.ckpt")):
            line = f"checkpoint {self.checkpoint} is not there; run task=fetch with the same settings"
            later = OnFirstUseError("Polos weights", 0, folder, partial(self._fetch, folder))
            raise UnavailableError(line) from NotFetchedError(line, later)
        try:
            return locate(self.checkpoint), locate(self.encoder)
        except UserError as error:
            raise UnavailableError(str(error)) from error

    def _fetch(self, folder: Path) -> None:
        fetch_members(URL, {folder / name: f"reprod/{name}" for name in ("hparams.yaml", "reprod.ckpt")})
        locate_checkpoint(self.encoder)

    def scores(
        self, corpus: Corpus, images: Mapping[ImageId, Loadable], device: torch.device
    ) -> dict[ImageId, float]:
        """Return each image's score, the best over its references.

        32 images are decoded at a time. Raises `UnavailableError` without the weights.
        """
        from downstream.metrics.polos_estimator import PolosEstimator

        folder, encoder = self.locate()
        estimator = PolosEstimator.load(published_weights(folder), encoder).to(device)
        scores: dict[ImageId, float] = {}
        for pixels, part in corpus_batches(corpus, images, estimator.processor, IMAGES_AT_ONCE, device):
            batch = estimator.score(pixels, list(part.candidates.values()), list(part.references.values()))
            scores |= zip(part.candidates, batch.tolist(), strict=True)
        return scores


def published_weights(folder: Path) -> Path:
    """Return the weights in the authors' folder. Raises `UserError` for any other, or other hyperparameters."""
    files, settings = sorted(folder.glob("*.ckpt")), folder / "hparams.yaml"
    if len(files) != 1 or not settings.is_file():
        raise UserError(
            f"models.polos.checkpoint={folder} must hold one .ckpt and hparams.yaml, as {URL} does"
        )
    given = yaml.safe_load(settings.read_text())
    other = {key: given.get(key) for key, value in PUBLISHED.items() if given.get(key) != value}
    if other:
        raise UserError(f"{settings} must be that of the published Polos: {other} instead of {PUBLISHED}")
    return files[0]
