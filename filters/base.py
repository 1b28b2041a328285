"""What a filter is: a class that only scores. The harness owns loops, devices, caching, timing and thresholds."""

from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt
import torch

from benchmark.core.batch import Batch
from benchmark.core.identity import Identified

Scores = npt.NDArray[np.float32]


class Reader(Identified, ABC):
    """Something that is given the pool's samples in batches.

    `needs` names what it reads of a sample: ``"text"``, ``"image"``, or metadata columns. The outputs of `features`
    are in the batch too; their inputs are not, unless `needs` names them.
    """

    needs: frozenset[str]
    features: tuple["Features", ...] = ()
    batch_size: ClassVar[int] = 256

    @property
    def sources(self) -> frozenset[str]:
        """What is read of the pool in all, by this and by its features."""
        return self.needs.union(*(part.sources for part in self.features))

    def setup(self, device: torch.device) -> None:
        """Load models, once per worker; not those of its features."""


class Features(Reader):
    """A model's outputs for every sample, kept in a cache that several filters share."""

    @abstractmethod
    def extract(self, batch: Batch) -> Mapping[str, npt.NDArray[np.float32] | Sequence[Any]]:
        """Return by name arrays of shape (n, d), kept in half precision, or n nested lists of numbers or strings."""


class Filter(Reader):
    """Scores image-caption pairs; a higher score says keep."""

    light: ClassVar[bool] = False  # scores faster than a worker process starts
    upper_bound: ClassVar[bool] = False  # may read the pool's hidden columns

    def fit(self, batches: Iterable[Batch]) -> None:
        """Gather corpus statistics, once, before any worker starts.

        Args:
            batches: what `score` is given, of the whole pool; it can be gone through again.
        """

    @property
    def corpus_dependent(self) -> bool:
        """Whether a sample's score depends on the rest of the pool."""
        return type(self).fit is not Filter.fit

    @abstractmethod
    def score(self, batch: Batch) -> Scores:
        """Return scores of shape (n,); NaN where a sample cannot be scored."""


class Composite(Filter):
    """Combines the scores of other filters over the whole pool, so each of them is scored and cached once.

    Args:
        filters: by names that the user chose, in their order.
    """

    def __init__(self, filters: Mapping[str, Filter]) -> None:
        self.filters = dict(filters)
        self.needs = frozenset().union(*(part.sources for part in self.filters.values()))

    def identity(self) -> dict[str, Any]:
        """Return the class, its own settings, and the identities of its parts."""
        return super().identity() | {"filters": [part.identity() for part in self.filters.values()]}

    @abstractmethod
    def combine(self, scores: npt.NDArray[np.float32]) -> Scores:
        """Turn scores of shape (filters, n) into one of shape (n,); NaN says: not kept."""

    def setup(self, device: torch.device) -> None:
        """Set up every part."""
        for part in self.filters.values():
            part.setup(device)

    def score(self, batch: Batch) -> Scores:
        """Score one batch as if it were the whole pool."""
        return self.combine(np.stack([part.score(batch) for part in self.filters.values()]))
