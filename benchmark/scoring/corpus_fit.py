"""Fitting filters on the features of a pool: in memory-mapped files, on the engine, resumable."""

from __future__ import annotations

import shutil
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass
from functools import cached_property
from pathlib import Path

import numpy as np
import numpy.typing as npt

from benchmark.core.batch import Batch
from benchmark.core.cached_files import intact
from benchmark.core.devices import resolve_device
from benchmark.core.disk_buckets import put_in_order
from benchmark.core.locks import locked
from benchmark.core.mapped_files import LazyArray, MappedArray, MappedUids, save_array, write_array
from benchmark.core.paths import atomic_folder, cached_value
from benchmark.core.progress import tracked
from benchmark.core.uids import UID_DTYPE, UidIndex, first_of_each, read_subset, sort_uids, unite_uids
from benchmark.core.usage import Seconds, now, since
from benchmark.engine.base import Engine
from benchmark.pool.pool import Pool
from benchmark.scoring.feature_cache import FeatureTable, load_features
from benchmark.scoring.score_folder import fit_folder
from benchmark.scoring.shard_reader import PoolBatches, features_path
from filters.embeddings.corpus import ByUid, CorpusFilter, Fill, PieceWork

WORDS = {"high": "f0", "low": "f1"}  # the files of the uids, and the words in them
LIGHT_SHARDS = 16  # statistics of so few take less time in this process than starting others


class MappedCorpus:
    """The corpus of `CorpusFilter.fit_corpus`, see `filters.embeddings.corpus.Corpus`: by default the whole pool.

    `paths` are the features of each shard, `folder` gets the results. If several shards have a uid, the row of the
    first counts; in a shard the last.
    """

    def __init__(
        self, paths: Sequence[Path], folder: Path, engine: Engine, survivors: Path | None = None
    ) -> None:
        self.shards: Sequence[Iterable[Batch]] = ()
        self.folder = folder
        self.scratch = folder / "scratch"
        self._paths = paths
        self._engine = engine
        self._survivors = survivors

    @cached_property
    def uids(self) -> MappedUids:
        """The n uids, sorted, each once."""
        folder = self.folder / "rows"
        if not intact(folder):
            uids = unite_uids([np.empty(0, UID_DTYPE), *(load_features(path).uids for path in self._paths)])
            if self._survivors:
                uids = uids[UidIndex(read_subset(self._survivors)).find(uids) >= 0]
            with atomic_folder(folder) as temporary:
                for name, word in WORDS.items():
                    save_array(temporary / f"{name}.npy", uids[word])
        return MappedUids(*(MappedArray(folder / f"{name}.npy") for name in WORDS))

    @cached_property
    def _widths(self) -> dict[str, int]:
        return next(self._tables()).widths if len(self.uids) else {}

    def _tables(self) -> Iterator[FeatureTable]:
        """Yield the features of the shards that have any."""
        return (table for table in map(load_features, self._paths) if len(table.uids))

    @property
    def outputs(self) -> Sequence[str]:
        """The names of the embeddings."""
        return list(self._widths)

    def embeddings(self, name: str) -> LazyArray:
        """Return the embeddings of that name.

        They are copied to a file when they are first read: if the features do not fit into memory, reading rows of
        many files in the order of the uids would read nearly all of them again for every few thousand rows.
        """

        def gather(array: npt.NDArray[np.float16]) -> None:
            put_in_order(self._positions_and_rows(name), array, self.scratch)

        shape = (len(self.uids), self._widths.get(name, 0))
        return LazyArray(self.scratch / f"{name}.npy", shape, np.float16, gather)

    def _positions_and_rows(
        self, name: str
    ) -> Iterator[tuple[npt.NDArray[np.int64], npt.NDArray[np.float16]]]:
        """Yield what the array needs of each file: positions (m,), and rows (m, d)."""
        taken = np.zeros(len(self.uids), bool)
        for table in self._tables():
            order = sort_uids(table.uids)
            rows = order[first_of_each(table.uids[order][::-1])[::-1]]  # of equal uids the last
            positions = self.uids.find(table.uids[rows])
            needed = np.flatnonzero(positions >= 0)
            needed = needed[~taken[positions[needed]]]
            taken[positions[needed]] = True
            yield positions[needed], table.half(name)[rows[needed]]

    def map(self, step: str, work: PieceWork, pieces: int) -> list[MappedArray]:
        """Return the array of each piece; only missing arrays are computed."""
        paths = [self.scratch / step / f"{piece}.npy" for piece in range(pieces)]
        missing = [piece for piece, path in enumerate(paths) if not intact(path)]
        if missing:
            written = self._engine.run(_WritePiece(work, paths, len(self._paths) < LIGHT_SHARDS), missing)
            for _ in tracked(f"fit: {step}", written, len(missing), "pieces"):
                pass
        return [MappedArray(path) for path in paths]

    def by_uid(self, name: str, dtype: npt.DTypeLike, fill: Fill) -> ByUid:
        """Return the n values that `fill` puts into an array, computed unless they are there."""
        return ByUid(self.uids, write_array(self.folder / f"{name}.npy", (len(self.uids),), dtype, fill))


@dataclass
class _WritePiece:
    """Writes the array of a piece, so that nothing large goes back to the caller and a killed fit goes on from it."""

    work: PieceWork
    paths: Sequence[Path]
    light: bool

    def setup(self, device: str) -> None:
        """Prepare the worker; work without `setup` does not need torch."""
        if type(self.work).setup is not PieceWork.setup:
            self.work.setup(resolve_device(device))

    def __call__(self, piece: int) -> None:
        """Compute and write one piece."""
        save_array(self.paths[piece], self.work(piece))


def fit_on_corpus(pool: Pool, scorer: CorpusFilter, engine: Engine, survivors: Path | None = None) -> Seconds:
    """Fit the filter on the cached features of the pool, or of the `survivors`; return the seconds that it took.

    The results stay in a folder, with the seconds of the attempt that finished them.
    Raises `UserError` if the pool lacks a usable pair.
    """
    folder = fit_folder(pool, scorer, survivors)
    (features,) = scorer.features
    paths = [features_path(pool, shard, features) for shard in pool.shards(scorer.sources)]
    with locked(folder):
        started = now()
        if survivors is None and not any(len(load_features(path).uids) for path in paths):
            raise pool.nothing_usable(sum((load_features(path).drops for path in paths), Counter[str]()))
        corpus = MappedCorpus(paths, folder, engine, survivors)
        among = corpus.uids if survivors else None
        corpus.shards = [PoolBatches(pool, scorer, among, [shard]) for shard in pool.shards(scorer.sources)]
        scorer.fit_corpus(corpus)
        seconds = cached_value(folder / "seconds.json", lambda: asdict(since(started)))
        shutil.rmtree(corpus.scratch, ignore_errors=True)
        return Seconds(**seconds)
