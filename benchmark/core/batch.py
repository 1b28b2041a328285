"""What filters and downstream models are given: samples, in batches."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy.typing as npt
from PIL import Image

# Why a sample cannot be used. The strings are stable: manifests and reports count by them.
CAPTION_MISSING = "caption_missing"
CAPTION_EMPTY = "caption_empty"
CAPTION_TOO_LONG = "caption_too_long"
CAPTION_INVALID_UTF8 = "caption_invalid_utf8"
DOWNLOAD_FAILED = "download_failed"
DUPLICATE_UID = "duplicate_uid"
IMAGE_MISSING = "image_missing"
IMAGE_UNREADABLE = "image_unreadable"
IMAGE_TOO_LARGE = "image_too_large"
METADATA_INVALID = "metadata_invalid"
NO_CLUSTER = "no_cluster"
NO_SCORE = "no_score"
SHARD_CORRUPT = "shard_corrupt"
SHARD_EMPTY = "shard_empty"


class SampleError(Exception):
    """A sample that cannot be used; `reason` is one of the strings above."""

    def __init__(self, reason: str) -> None:
        super().__init__(reason)
        self.reason = reason


@dataclass(frozen=True)
class Sample:
    """One image-caption pair: uid (32 hex characters), caption, RGB image.

    `others` are further captions of the image: training draws one of all each time it sees the sample.
    """

    uid: str
    text: str
    image: Image.Image
    others: tuple[str, ...] = ()


@dataclass(frozen=True)
class Batch:
    """n samples, with only the fields that the filter said it needs.

    `images` are RGB; `columns` holds metadata columns by name, `features` arrays of shape (n, d) or, for nested
    lists, (n,).
    """

    uids: list[str]
    texts: list[str]
    images: list[Image.Image] = field(default_factory=list)
    columns: Mapping[str, npt.NDArray[Any]] = field(default_factory=dict)
    features: Mapping[str, npt.NDArray[Any]] = field(default_factory=dict)

    def __len__(self) -> int:
        return len(self.uids)

    def take(self, rows: Sequence[int]) -> "Batch":
        """Return the samples at `rows`, in that order."""
        return Batch(
            [self.uids[row] for row in rows],
            [self.texts[row] for row in rows] if self.texts else [],
            [self.images[row] for row in rows] if self.images else [],
            {name: values[rows] for name, values in self.columns.items()},
            {name: values[rows] for name, values in self.features.items()},
        )
