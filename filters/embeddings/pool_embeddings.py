"""Target embeddings from a file, and second moments of a pool's and of a target's embeddings."""

from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from benchmark.core.cached_files import intact
from benchmark.core.errors import UserError
from benchmark.core.hashes import hash_file
from benchmark.core.locks import locked
from benchmark.core.mapped_files import write_array
from benchmark.core.paths import cache_folder, user_path
from benchmark.core.requirements import Requirement, look
from benchmark.core.uids import map_npy
from filters.embeddings.corpus import CHUNK, Corpus, CorpusFilter, PieceWork, Rows, chunks

OuterSum = Callable[[Rows], npt.NDArray[np.float64]]


class Targeted(CorpusFilter):
    """A filter with a target set of image embeddings, a ``.npy``; without one the pool is its own target."""

    target: str | None

    @property
    def corpus_dependent(self) -> bool:  # type: ignore[override]
        """Whether the pool is its own target."""
        return self.target is None

    def identity(self) -> dict[str, Any]:
        """Identify the target by its content."""
        return super().identity() | {"target": self.target and target_digest(self.target)}

    def requirements(self) -> Iterator[Requirement]:
        """Yield the target, and the requirements of the embeddings."""
        if self.target is not None:
            yield look("filter.target", partial(_file, self.target))
        yield from super().requirements()


def target_digest(path: str) -> str:
    """Return the hash of the file's content."""
    return hash_file(_file(path))


def read_target(path: str) -> npt.NDArray[np.float32]:
    """Return the embeddings in a ``.npy`` of shape (m, d), as unit vectors.

    They are written to the cache once and memory-mapped, so that workers share them.

    Raises `UserError` when the file is missing, or does not hold finite numbers of that shape.
    """
    unit = cache_folder("targets") / f"{target_digest(path)}.npy"
    with locked(unit):
        if not intact(unit):
            embeddings = _map_target(path)
            write_array(unit, embeddings.shape, np.float32, partial(_put_unit_vectors, path, embeddings))
    # Writable, as torch wants it; changes stay in this process.
    return np.asarray(np.load(unit, mmap_mode="c"))


def _map_target(path: str) -> npt.NDArray[Any]:
    """Map the ``.npy`` of a target. Raises `UserError` unless it holds floats of shape (m, d)."""
    try:
        array = map_npy(_file(path))
    except ValueError:
        raise UserError(
            f"filter.target={path} must be a numpy file; np.save embeddings of shape (m, d)"
        ) from None
    if array.ndim != 2 or not array.size or array.dtype.kind != "f":
        raise UserError(f"filter.target={path} must hold floats of shape (m, d), one row per image")
    return array


def _put_unit_vectors(path: str, embeddings: Rows, unit: npt.NDArray[np.float32]) -> None:
    """Put the rows of `embeddings` (m, d), each divided by its length, into `unit`."""
    for part in chunks(embeddings):
        rows = embeddings[part].astype(np.float32)
        lengths = np.linalg.norm(rows, axis=1, keepdims=True)
        if not (np.isfinite(lengths) & (lengths > 0)).all():
            raise UserError(f"filter.target={path} must hold finite embeddings other than zero")
        unit[part] = rows / lengths


def check_width(width: int, embeddings: Rows) -> None:
    """Raise `UserError` unless a target's `width` is that of the pool's `embeddings` (n, d)."""
    if width != embeddings.shape[1]:
        raise UserError(
            f"filter.target holds embeddings of {width} dimensions, the pool's have {embeddings.shape[1]};"
            " embed the target with the pool's CLIP model, or set filter.model"
        )


class _OuterSums(PieceWork):
    """The sum of x x^T over each chunk of embeddings, as `outer_sum_of` computes it."""

    def __init__(self, embeddings: Rows, outer_sum_of: OuterSum) -> None:
        self._embeddings = embeddings
        self._outer_sum_of = outer_sum_of

    def __call__(self, piece: int, /) -> npt.NDArray[np.float64]:
        """Return the sum over one chunk, (d, d)."""
        return self._outer_sum_of(self._embeddings[piece * CHUNK : (piece + 1) * CHUNK])


def outer_sum(embeddings: Rows) -> npt.NDArray[np.float64]:
    """Return the sum of x x^T over the rows x of (n, d), shape (d, d); divided by n it is the second moment."""
    total = np.zeros((embeddings.shape[1],) * 2)
    for part in chunks(embeddings):
        rows = embeddings[part].astype(np.float32)
        total += rows.T @ rows
    return total


def corpus_outer_sum(
    corpus: Corpus, name: str, outer_sum_of: OuterSum = outer_sum
) -> npt.NDArray[np.float64]:
    """Return `outer_sum` of a corpus; the engine's workers share the chunks, which are added up in their order.

    `outer_sum_of` is the function of one chunk, picklable.
    """
    embeddings = corpus.embeddings(name)
    pieces = corpus.map("moment", _OuterSums(embeddings, outer_sum_of), len(list(chunks(embeddings))))
    total = np.zeros((embeddings.shape[1],) * 2)
    for piece in pieces:
        total += piece.values
    return total


def quadratic(embeddings: Rows, matrix: npt.NDArray[np.float64]) -> npt.NDArray[np.float32]:
    """Return x^T M x for each row x of (n, d), shape (n,); `matrix` M is symmetric, (d, d)."""
    narrow = matrix.astype(np.float32)
    values = np.empty(len(embeddings), np.float32)
    for part in chunks(embeddings):
        rows = embeddings[part].astype(np.float32)
        values[part] = np.einsum("nd,nd->n", rows @ narrow, rows)
    return values


def _file(path: str) -> Path:
    file = user_path(path)
    if not file.is_file():
        raise UserError(f"filter.target={path} not found; give a .npy of image embeddings of shape (m, d)")
    return file
