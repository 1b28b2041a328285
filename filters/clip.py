"""CLIPScore (Hessel et al. 2021): cosine similarity of image and caption by a CLIP model."""

from collections.abc import Iterator, Mapping
from typing import Any, cast

import numpy as np
import numpy.typing as npt

from benchmark.core.batch import Batch
from benchmark.core.devices import Device, check_precision
from benchmark.core.pixel_workers import Preprocessing
from benchmark.core.requirements import Requirement
from benchmark.models.clip_models import ClipModel, clip_identity, clip_requirement, load_clip
from filters.base import Features, Filter, Reader, Scores


class ClipReader(Reader):
    """A filter or features that embed with one CLIP model.

    Args:
        model: an open_clip model, see `load_clip`.
        pretrained: open_clip's tag of the weights.
        precision: ``fp32`` or ``bf16``, see `load_clip`.
    """

    def __init__(self, model: str, pretrained: str | None = None, precision: str = "fp32") -> None:
        self.model = model
        self.pretrained = pretrained
        self.precision = check_precision(precision)
        self._clip: ClipModel | None = None

    @property
    def clip(self) -> ClipModel:
        """The loaded model."""
        assert self._clip is not None, "setup comes first"
        return self._clip

    def identity(self) -> dict[str, Any]:
        """Identify local weights by their content, wherever they are stored."""
        return super().identity() | clip_identity(self.model, self.pretrained)

    def requirements(self) -> Iterator[Requirement]:
        """Yield the weights, and the requirements of the parts."""
        yield clip_requirement(self.model, self.pretrained)
        yield from super().requirements()

    def setup(self, device: Device) -> None:
        """Load the model. Raises `UserError` when its weights cannot be found or downloaded."""
        self._clip = load_clip(self.model, self.pretrained, device, self.precision)


class ClipFeatures(ClipReader, Features):
    """L2-normalised image and text embeddings, see `ClipReader`; `prefix` is put before every caption."""

    needs = frozenset({"image", "text"})

    def __init__(
        self, model: str, pretrained: str | None = None, precision: str = "fp32", prefix: str | None = None
    ) -> None:
        super().__init__(model, pretrained, precision)
        self.prefix = prefix

    def preprocessing(self) -> Preprocessing:
        """Return the model's own, see `Preprocesses`."""
        return cast(Preprocessing, self.clip.preprocess)

    def extract(self, batch: Batch) -> Mapping[str, npt.NDArray[np.float32]]:
        """Return ``image`` and ``text``, each of shape (n, d)."""
        texts = [f"{self.prefix} {text}" for text in batch.texts] if self.prefix else batch.texts
        return self.clip.embed_pairs(batch, texts)


class Clip(Filter):
    """Cosine similarity of image and caption; for the arguments see `ClipFeatures`.

    Embeddings are cached and shared by filters of the same model and prefix.
    """

    needs = frozenset()

    def __init__(
        self, model: str, pretrained: str | None = None, precision: str = "fp32", prefix: str | None = None
    ) -> None:
        self.features = (ClipFeatures(model, pretrained, precision, prefix),)

    def score(self, batch: Batch) -> Scores:
        """Return cosines of shape (n,)."""
        return cosines(batch.features["image"], batch.features["text"])


def cosines(images: npt.NDArray[np.float32], texts: npt.NDArray[np.float32]) -> Scores:
    """Return the cosine of each image and its caption, (n,), from unit vectors of shape (n, d)."""
    return np.asarray(np.einsum("nd,nd->n", images, texts), np.float32)
