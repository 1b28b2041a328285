"""The features of a whole pool, such as embeddings, for filters whose scores depend on all of them."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Sequence, Sized
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar, Protocol

import numpy as np
import numpy.typing as npt

from benchmark.core.batch import Batch
from benchmark.core.devices import Device
from benchmark.core.mapped_files import Indices, MappedArray, MappedUids
from benchmark.core.uids import UidArray, decode_uid
from filters.base import Filter, Scores

Floats = npt.NDArray[np.floating[Any]]
Fill = Callable[[npt.NDArray[Any]], None]
CHUNK = 65536  # rows that are read and converted to float32 at a time


class Rows(Protocol):
    """Embeddings of n samples, (n, d), of which some rows are read at a time; a numpy array is one."""

    @property
    def shape(self) -> tuple[int, ...]:
        """Rows and width."""

    def __len__(self) -> int: ...

    def __getitem__(self, rows: Indices, /) -> Floats: ...


@dataclass(frozen=True)
class Subset:
    """Some `rows` (m,) of embeddings, in their order; they are read when they are indexed."""

    embeddings: Rows
    rows: npt.NDArray[np.int64] | MappedArray

    @property
    def shape(self) -> tuple[int, ...]:
        """Rows and width."""
        return len(self.rows), self.embeddings.shape[1]

    def __len__(self) -> int:
        return len(self.rows)

    def __getitem__(self, rows: Indices, /) -> Floats:
        return self.embeddings[np.asarray(self.rows)[rows]]


def chunks(embeddings: Sized, size: int | None = None) -> Iterator[slice]:
    """Yield slices of at most `size` rows that cover the embeddings, by default `CHUNK`."""
    size = size or CHUNK
    for start in range(0, len(embeddings), size):
        yield slice(start, min(start + size, len(embeddings)))


class PieceWork(ABC):
    """Picklable work whose pieces are numbers; each gives an array. Workers import torch only if it has a `setup`."""

    def setup(self, device: Device) -> None:  # noqa: B027  not every work needs one
        """Prepare the worker."""

    @abstractmethod
    def __call__(self, piece: int, /) -> npt.NDArray[Any]:
        """Return the array of one piece."""


class ByUid:
    """One value per sample of a pool, looked up by uid; pickled as the paths of its files."""

    def __init__(self, uids: MappedUids, values: MappedArray) -> None:
        self._uids = uids
        self._values = values

    def __call__(self, uids: UidArray) -> Scores:
        """Return the values of `uids`. Raises KeyError for an unknown uid."""
        rows = self._uids.find(uids)
        if (rows < 0).any():
            raise KeyError(decode_uid(uids[np.argmin(rows)]))
        return np.asarray(self._values.values[rows])


class Corpus(Protocol):
    """The features of a pool, or of the pairs of it that reach a filter.

    The embeddings have a row per uid, in ascending order of `uids`, so results do not depend on shards or workers;
    `uids` are sorted on first use. A fit writes its results to files, and a fit that was killed continues from them.
    """

    folder: Path  # what is written here stays for scoring
    scratch: Path  # what is written here is removed after the fit
    shards: Sequence[Iterable[Batch]]  # the batches of each shard, picklable; a uid may be in several

    @property
    def uids(self) -> MappedUids:
        """The n uids."""

    @property
    def outputs(self) -> Sequence[str]:
        """The names of the embeddings; empty for a pool without rows."""

    def embeddings(self, name: str) -> Rows:
        """Return the embeddings of that name, (n, d), in half precision."""

    def map(self, step: str, work: PieceWork, pieces: int) -> Sequence[MappedArray]:
        """Return the array of each piece from 0 on, computed by the engine's workers."""

    def by_uid(self, name: str, dtype: npt.DTypeLike, fill: Fill) -> ByUid:
        """Return the n values that `fill` puts into an array, computed unless they are there."""


class CorpusFilter(Filter):
    """A filter that is fitted on its one entry of `features`, such as embeddings, by the engine."""

    corpus_dependent: ClassVar[bool] = True

    @abstractmethod
    def fit_corpus(self, corpus: Corpus) -> None:
        """Compute corpus statistics, once, before any worker starts."""
