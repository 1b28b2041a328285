"""LAION's aesthetics score: a head on CLIP's image embedding that predicts human ratings from 1 to 10."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from benchmark.core.batch import Batch
from benchmark.core.devices import Device
from benchmark.core.errors import UserError
from benchmark.core.requirements import Requirement, look
from benchmark.models.checkpoints import read_weights, revision
from filters.base import Filter, Scores
from filters.clip import ClipFeatures

if TYPE_CHECKING:
    import torch

REMEDY = "get sac+logos+ava1-l14-linearMSE.pth of github.com/christophschuhmann/improved-aesthetic-predictor"


class Aesthetics(Filter):
    """Predicted rating of the image.

    The head is of linear layers with nothing but dropout between them: one layer (``weight``, ``bias``) or several
    (``layers.0.weight``, ...). The release also has a head with ReLU, which is refused.

    Args:
        model: the open_clip model whose embeddings the head was trained on (ViT-L-14).
        pretrained: open_clip's tag of the weights.
        head: path of the head's weights, safetensors or PyTorch.
        precision: ``fp32`` or ``bf16``, see `load_clip`.
    """

    needs = frozenset()

    def __init__(self, model: str, pretrained: str | None, head: str | None, precision: str = "fp32") -> None:
        if head is None:
            raise UserError(f"filter=aesthetics needs filter.head=FILE; {REMEDY}")
        self.head = head
        self._embeddings = ClipFeatures(model, pretrained, precision)
        self.features = (self._embeddings,)
        self._layers: list[tuple[torch.Tensor, torch.Tensor]] = []

    def identity(self) -> dict[str, Any]:
        """Identify the head by its content, not its path."""
        return super().identity() | {"head": revision(self._file())}

    def requirements(self) -> Iterator[Requirement]:
        """Yield the head, and the requirements of the embeddings."""
        yield look("filter.head", self._file)
        yield from super().requirements()

    def setup(self, device: Device) -> None:
        """Load the head. Raises `UserError` when the file is missing or lacks linear layers."""
        path = self._file()
        state = read_weights(path)
        names = [name.removesuffix("weight") for name in state if name.endswith("weight")]
        layers = [(state[f"{name}weight"], state.get(f"{name}bias")) for name in sorted(names, key=_position)]
        self._layers = [
            (weight.float(), bias.float()) for weight, bias in layers if weight.ndim == 2 and bias is not None
        ]
        if not layers or len(self._layers) < len(layers):
            raise UserError(f"filter.head={self.head} must hold linear layers; {REMEDY}")
        places = [place for name in names for place in _position(name)]
        if any(later - earlier > 2 for earlier, later in pairwise(sorted(places))):
            raise UserError(
                f"filter.head={self.head} has more than dropout between its linear layers; {REMEDY}"
            )

    def score(self, batch: Batch) -> Scores:
        """Return ratings of shape (n,)."""
        images = batch.features["image"]
        expected, width = self._layers[0][0].shape[1], images.shape[1]
        if expected != width:
            raise UserError(
                f"filter.head={self.head} takes {expected} dimensions, filter.model={self._embeddings.model} gives"
                f" {width}; {REMEDY}"
            )
        values = self._layers[0][0].new_tensor(images)
        for weight, bias in self._layers:
            values = bias.addmm(values, weight.T)
        return np.asarray(values[:, 0].numpy(), np.float32)

    def _file(self) -> Path:
        path = Path(self.head)
        if not path.is_file():
            raise UserError(f"filter.head={self.head}: file not found; {REMEDY}")
        return path


def _position(name: str) -> list[int]:
    return [int(part) for part in name.split(".") if part.isdigit()]
