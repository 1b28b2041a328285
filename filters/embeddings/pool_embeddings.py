"""Embeddings of a whole pool, target embeddings from a file, and second moments of both."""

import hashlib
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from benchmark.core.batch import Batch
from benchmark.core.errors import UserError
from benchmark.core.requirements import Requirement, look
from benchmark.core.uids import UID_DTYPE, UidArray, UidIndex, decode_uid, first_of_each, sort_uids
from filters.base import Filter, Scores

Floats = npt.NDArray[np.floating[Any]]
CHUNK = 65536  # rows that are converted to float32 at a time


def gather(
    batches: Iterable[Batch], names: Sequence[str]
) -> tuple[UidArray, dict[str, npt.NDArray[np.float16]]]:
    """Return the uids of a whole pool, (n,), and its features by name, (n, d) in half precision.

    Sorted by uid without duplicates, so that results do not depend on shards, batches or workers.
    """
    uids = [np.empty(0, UID_DTYPE)]
    parts: dict[str, list[npt.NDArray[np.float16]]] = {name: [] for name in names}
    for batch in batches:
        uids.append(batch.uids)
        for name in names:
            parts[name].append(batch.features[name].astype(np.float16))
    joined = np.concatenate(uids)
    order = sort_uids(joined)
    order = order[first_of_each(joined[order])]
    empty = np.empty((0, 0), np.float16)
    return joined[order], {n: np.concatenate(p)[order] if p else empty for n, p in parts.items()}


class ByUid:
    """One value per sample of a pool, looked up by uid.

    Args:
        uids: sorted uids without duplicates, shape (n,).
        values: their values, shape (n,).
    """

    def __init__(self, uids: UidArray, values: Scores) -> None:
        self._index = UidIndex(uids)
        self._values = values

    def __call__(self, uids: UidArray) -> Scores:
        """Return the values of `uids`. Raises KeyError for an unknown uid."""
        rows = self._index.find(uids)
        if (rows < 0).any():
            raise KeyError(decode_uid(uids[np.argmin(rows)]))
        return self._values[rows]


class Targeted(Filter):
    """A filter with a target set of image embeddings, a ``.npy``; without one the pool is its own target."""

    target: str | None

    @property
    def corpus_dependent(self) -> bool:
        """Whether the pool is its own target."""
        return self.target is None

    def identity(self) -> dict[str, Any]:
        """Identify the target by its content."""
        return super().identity() | {"target": self.target and target_digest(self.target)}

    def requirements(self) -> Iterator[Requirement]:
        """Yield the target, and what the embeddings need."""
        if self.target is not None:
            yield target_requirement(self.target)
        yield from super().requirements()


def target_requirement(path: str) -> Requirement:
    """Return whether the file of a target is there."""
    return look("filter.target", lambda: _file(path))


def target_digest(path: str) -> str:
    """Return the hash of the file's content."""
    with _file(path).open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def read_target(path: str) -> npt.NDArray[np.float32]:
    """Return the embeddings in a ``.npy`` of shape (m, d), as unit vectors.

    Raises `UserError` when the file is missing, or does not hold finite numbers of that shape.
    """
    try:
        array: npt.NDArray[Any] = np.load(_file(path), allow_pickle=False)
    except (ValueError, EOFError):
        raise UserError(
            f"filter.target={path} must be a numpy file; np.save embeddings of shape (m, d)"
        ) from None
    shape = getattr(array, "shape", None)  # an .npz has none
    if shape is None or len(shape) != 2 or not array.size or array.dtype.kind != "f":
        raise UserError(f"filter.target={path} must hold floats of shape (m, d), one row per image")
    unit = array.astype(np.float32)
    lengths = np.linalg.norm(unit, axis=1, keepdims=True)
    if not (np.isfinite(lengths) & (lengths > 0)).all():
        raise UserError(f"filter.target={path} must hold finite embeddings other than zero")
    return np.asarray(unit / lengths, np.float32)


def check_width(width: int, embeddings: Floats) -> None:
    """Raise `UserError` unless a target's `width` is that of the pool's `embeddings` (n, d)."""
    if width != embeddings.shape[1]:
        raise UserError(
            f"filter.target holds embeddings of {width} dimensions, the pool's have {embeddings.shape[1]};"
            " embed the target with the pool's CLIP model, or set filter.model"
        )


def outer_sum(embeddings: Floats) -> npt.NDArray[np.float64]:
    """Return the sum of x x^T over the rows x of (n, d), shape (d, d); divided by n it is the second moment."""
    total = np.zeros((embeddings.shape[1],) * 2)
    for start in range(0, len(embeddings), CHUNK):
        rows = embeddings[start : start + CHUNK].astype(np.float32)
        total += rows.T @ rows
    return total


def quadratic(embeddings: Floats, matrix: npt.NDArray[np.float64]) -> npt.NDArray[np.float32]:
    """Return x^T M x for each row x of (n, d), shape (n,); `matrix` M is symmetric, (d, d)."""
    narrow = matrix.astype(np.float32)
    values = np.empty(len(embeddings), np.float32)
    for start in range(0, len(embeddings), CHUNK):
        rows = embeddings[start : start + CHUNK].astype(np.float32)
        values[start : start + CHUNK] = np.einsum("nd,nd->n", rows @ narrow, rows)
    return values


def _file(path: str) -> Path:
    file = Path(path).expanduser()
    if not file.is_file():
        raise UserError(f"filter.target={path} not found; give a .npy of image embeddings of shape (m, d)")
    return file
