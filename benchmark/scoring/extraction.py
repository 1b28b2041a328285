"""Features that are extracted from the same batches, so that each image is read and decoded once for all of them."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
from PIL import Image

from benchmark.core.batch import Batch
from benchmark.core.pixel_workers import PixelWorkers, Preprocesses, Preprocessing
from benchmark.core.uids import UID_DTYPE, UidArray
from benchmark.core.usage import Seconds, now, since
from benchmark.scoring.feature_cache import FeatureTable
from filters.base import Features

if TYPE_CHECKING:
    import torch


class Extraction:
    """The features of one shard, while they are extracted.

    Args:
        features: with its models loaded.
        tables: the features under it.
        spent: seconds so far.
    """

    def __init__(self, features: Features, tables: Sequence[FeatureTable], spent: Seconds) -> None:
        self.features = features
        self.tables = tables
        self.spent = spent
        self._uids = [np.empty(0, UID_DTYPE)]
        self._columns: dict[str, list[Any]] = {}

    def add(self, batch: Batch) -> None:
        """Extract from those samples of a batch that the features under these have."""
        started = now()
        if joined := join(batch, self.tables):
            self._uids.append(joined.uids)
            for name, values in self.features.extract(joined).items():
                self._columns.setdefault(name, []).append(values)
        self.spent += since(started)

    def drops(self, read: Counter[str]) -> Counter[str]:
        """Return the drop counts, with the counts of reading: a sample that is dropped twice counts once."""
        drops = Counter(read)
        for table in self.tables:
            drops |= table.drops
        return drops

    def arrays(self) -> tuple[UidArray, dict[str, Any]]:
        """Return the n uids, and the columns of n rows."""
        columns = {name: _concatenate(parts) for name, parts in self._columns.items()}
        return np.concatenate(self._uids), columns


class JointPixels:
    """Turns an image into the pixels of several models, one after the other: it is decoded once for all.

    Args:
        parts: the preprocessing of each model, which gives pixels of one shape (c, h, w).
    """

    def __init__(self, parts: Sequence[Preprocessing]) -> None:
        self._parts = parts
        self._shapes = [part(Image.new("RGB", (64, 64))).shape for part in parts]

    def __call__(self, image: Image.Image) -> torch.Tensor:
        """Return the pixels of all models, shape (sum of c h w,)."""
        import torch

        return torch.cat([part(image).flatten() for part in self._parts])

    def split(self, batch: Batch) -> list[Batch]:
        """Return the batch of each model; `batch` has a row of pixels per image."""
        columns = batch.pixels.split([shape.numel() for shape in self._shapes], dim=1)
        return [
            replace(batch, pixels=pixels.reshape(-1, *shape))
            for pixels, shape in zip(columns, self._shapes, strict=True)
        ]


class SharedPixels:
    """Processes that decode images once and preprocess them for several models, see `PixelWorkers`.

    Args:
        parts: the preprocessing of each model.
        processes: number of processes.
        device: of the pixels.
    """

    def __init__(self, parts: Sequence[Preprocessing], processes: int, device: torch.device) -> None:
        self._models = len(parts)
        self._joint = JointPixels(parts) if len(parts) > 1 else None
        self.workers = PixelWorkers(self._joint or parts[0], processes, device)

    def split(self, batch: Batch) -> list[Batch]:
        """Return the batch of each model; all have the same images, which are read in series."""
        if self._joint is None or batch.pixels is None:
            return [batch] * self._models
        return self._joint.split(batch)


def reading_together(features: Iterable[Features], processes: int) -> list[list[Features]]:
    """Group features by their inputs: features of images with equal batch sizes and columns read the same.

    With several processes for preprocessing, features that preprocess images get pixels, the others images.
    """
    groups: dict[Any, list[Features]] = defaultdict(list)
    for number, of in enumerate(features):
        pixels = processes > 1 and isinstance(of, Preprocesses)
        columns = frozenset(of.needs) - {"image", "text"}
        groups[(of.batch_size, columns, pixels) if "image" in of.needs else number].append(of)
    return list(groups.values())


def join(batch: Batch, tables: Sequence[FeatureTable]) -> Batch:
    """Add the rows of each table to the batch; leave out samples that a table lacks."""
    columns: dict[str, npt.NDArray[Any]] = {}
    for table in tables:
        rows = table.index.find(batch.uids)
        kept = np.flatnonzero(rows >= 0)
        if len(kept) < len(batch):
            batch, rows = batch.take(kept), rows[kept]
            columns = {name: values[kept] for name, values in columns.items()}
        columns |= table.take(rows)
    return replace(batch, features=columns) if tables else batch


def _concatenate(parts: Sequence[Any]) -> Any:
    if isinstance(parts[0], np.ndarray):
        return np.concatenate(parts)
    return [value for part in parts for value in part]
