"""Samples, alone and in batches, and the reasons why one cannot be used."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

if TYPE_CHECKING:
    from PIL import Image

    from benchmark.core.uids import UidArray

# Why a sample cannot be used. The strings are stable: manifests and reports count by them.
CAPTION_MISSING = "caption_missing"
CAPTION_EMPTY = "caption_empty"
CAPTION_TOO_LONG = "caption_too_long"
CAPTION_INVALID_UTF8 = "caption_invalid_utf8"
CHECKSUM_DIFFERS = "checksum_differs"  # image or caption changed since the sample was resharded
CONTAMINATED = "contaminated"  # its image is in an evaluation set
DOWNLOAD_FAILED = "download_failed"
DUPLICATE_UID = "duplicate_uid"
EXCLUDED = "excluded"  # on a list of `pool.exclude`
IMAGE_MISSING = "image_missing"
IMAGE_UNREADABLE = "image_unreadable"
IMAGE_TOO_LARGE = "image_too_large"
IMAGE_TOO_NARROW = "image_too_narrow"
IMAGE_TOO_SLOW = "image_too_slow"
KEY_REPEATED = "key_repeated"
KEY_WITH_DOT = "key_with_dot"  # webdataset ends the key at the first dot
METADATA_INVALID = "metadata_invalid"
METADATA_MISSING = "metadata_missing"
NO_CLUSTER = "no_cluster"
NO_SCORE = "no_score"
NOT_OF_THIS_TAR = "not_of_this_tar"  # in a stream: not selected, or of another tar
NSFW = "nsfw"
PAIR_OF_CORRUPT_SHARD = "pair_of_corrupt_shard"
UID_INVALID = "uid_invalid"
# These two count shards: how many pairs they held is not known.
SHARD_CORRUPT = "shard_corrupt"
SHARD_EMPTY = "shard_empty"
# Why a sample is only counted, not dropped: its files hold different captions (see benchmark/pool/pool.py).
CAPTION_MISMATCH = "caption_mismatch"

# A tokenizer may take time that grows with the square of a word's length, and a caption may be a megabyte.
MAX_CHARACTERS = 4_096


def counts(drops: Mapping[str, int]) -> str:
    """Return counts by reason as text: ``3 image_missing, 1 shard_corrupt``."""
    return ", ".join(f"{count:,} {reason}" for reason, count in sorted(drops.items()) if count)


class SampleError(Exception):
    """A sample that cannot be used; `reason` is one of the strings above."""

    def __init__(self, reason: str) -> None:
        super().__init__(reason)
        self.reason = reason


@dataclass(frozen=True)
class Sample:
    """One image-caption pair."""

    uid: str  # 32 hex characters
    text: str
    image: Image.Image  # RGB
    # Further captions of the image. Training draws one caption, the sample's own or another, each time it sees the
    # sample; or it sums their losses: then each source of captions has its position, None if it lacks one.
    others: tuple[str | None, ...] = ()


@dataclass(frozen=True)
class Batch:
    """n samples, with only the fields that the filter said it needs."""

    uids: UidArray  # shape (n,), dtype ``u8,u8``
    texts: list[str]  # of long captions filters get the beginnings, see `model_text`
    images: list[Image.Image] = field(default_factory=list)  # RGB
    columns: Mapping[str, npt.NDArray[Any]] = field(default_factory=dict)  # metadata, by name
    # By name, shape (n, d) or, for nested lists, (n,).
    features: Mapping[str, npt.NDArray[Any]] = field(default_factory=dict)
    pixels: Any = None  # in place of images for a reader that `Preprocesses`: float32 tensor (n, c, h, w)

    def __len__(self) -> int:
        return len(self.uids)

    def take(self, rows: Sequence[int] | npt.NDArray[np.int64]) -> Batch:
        """Return the samples at `rows`, in that order."""
        indices = np.asarray(rows, np.int64)
        return Batch(
            self.uids[indices],
            [self.texts[row] for row in rows] if self.texts else [],
            [self.images[row] for row in rows] if self.images else [],
            {name: values[indices] for name, values in self.columns.items()},
            {name: values[indices] for name, values in self.features.items()},
            None if self.pixels is None else self.pixels[indices],
        )


def model_text(caption: str) -> str:
    """Return what models read of a caption: its first `MAX_CHARACTERS` characters."""
    return caption[:MAX_CHARACTERS]
