"""What a filter is: a class that only scores. The harness owns loops, devices, caching, timing and thresholds."""

import hashlib
import json
from abc import ABC, abstractmethod
from collections.abc import Mapping
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt
import torch

from benchmark.batch import Batch
from benchmark.pool import Pool

Scores = npt.NDArray[np.float32]


class Identified:
    """Something whose output is cached under a key made of its class, its configuration and its weights."""

    def identity(self) -> dict[str, Any]:
        """Return what the output depends on: the class and its public attributes.

        A class that loads weights adds their revision. State made by ``setup`` or ``fit`` is private
        (``_model``), so it is left out.
        """
        return {"class": f"{type(self).__module__}.{type(self).__qualname__}"} | {
            name: value.identity() if isinstance(value, Identified) else value
            for name, value in vars(self).items()
            if not name.startswith("_") and name != "needs"
        }

    def key(self) -> str:
        """Return the cache key: a readable name and a hash of the identity."""
        text = json.dumps(self.identity(), sort_keys=True, default=str)
        return f"{type(self).__name__.lower()}-{hashlib.sha256(text.encode()).hexdigest()[:12]}"


class Features(Identified, ABC):
    """A model's outputs for every sample, kept in a cache that several filters share."""

    needs: frozenset[str]
    batch_size: ClassVar[int] = 256

    @abstractmethod
    def setup(self, device: torch.device) -> None:
        """Load the model, once per worker."""

    @abstractmethod
    def extract(self, batch: Batch) -> Mapping[str, npt.NDArray[np.float32]]:
        """Return named arrays of shape (n, d). They are kept in half precision."""


class Filter(Identified, ABC):
    """Scores image-caption pairs; a higher score says keep.

    `needs` names what ``score`` reads: ``"text"``, ``"image"``, or metadata columns. A filter with `features` is
    given those arrays in place of images.
    """

    needs: frozenset[str]
    features: Features | None = None
    batch_size: ClassVar[int] = 256
    light: ClassVar[bool] = False  # scores faster than a worker process starts
    upper_bound: ClassVar[bool] = False  # may read the pool's hidden columns

    def setup(self, device: torch.device) -> None:
        """Load models, once per worker."""

    def fit(self, pool: Pool) -> None:
        """Gather corpus statistics, once, before any worker starts."""

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
        self.needs = frozenset().union(*(part.needs for part in self.filters.values()))

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
