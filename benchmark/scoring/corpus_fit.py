"""Fitting filters on the features of a pool: in memory-mapped files, on the engine, resumable."""

from __future__ import annotations

import json
import shutil
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass
from functools import cached_property
from pathlib import Path

import numpy.typing as npt

from benchmark.core.batch import Batch
from benchmark.core.devices import resolve_device
from benchmark.core.locks import locked
from benchmark.core.mapped_files import LazyArray, MappedArray, MappedUids, save_array, write_array
from benchmark.core.paths import write_text
from benchmark.core.progress import progress
from benchmark.core.seals import intact
from benchmark.core.usage import Seconds, now, since
from benchmark.engine.base import Engine
from benchmark.pool.pool import Pool
from benchmark.scoring.corpus_rows import CorpusRows, write_rows
from benchmark.scoring.feature_cache import load_features
from benchmark.scoring.score_folder import fit_folder
from benchmark.scoring.shard_reader import ShardBatches, features_path
from benchmark.scoring.survivors import Survivors, among
from filters.embeddings.corpus import ByUid, CorpusFilter, Fill, PieceWork


class MappedCorpus:
    """The corpus of `CorpusFilter.fit_corpus`, see `filters.embeddings.corpus.Corpus`.

    Args:
        paths: the features of each shard.
        shards: the batches of each shard.
        folder: of the results.
        engine: runs the pieces of a step.
        survivors: the pairs of the corpus; None for the whole pool.
    """

    def __init__(
        self,
        paths: Sequence[Path],
        shards: Sequence[Iterable[Batch]],
        folder: Path,
        engine: Engine,
        survivors: Survivors | None = None,
    ) -> None:
        self.folder = folder
        self.scratch = folder / "scratch"
        self._paths = paths
        self._engine = engine
        self._survivors = survivors
        self.shards = [_Among(of, self.uids) for of in shards] if survivors else shards

    @cached_property
    def _rows(self) -> CorpusRows:
        folder = self.folder / "rows"
        if not intact(folder):
            write_rows(self._paths, self._survivors.index() if self._survivors else None, folder)
        return CorpusRows(self._paths, folder)

    @property
    def uids(self) -> MappedUids:
        """The n uids."""
        return self._rows.uids

    @property
    def outputs(self) -> Sequence[str]:
        """The names of the embeddings."""
        return list(self._rows.widths)

    def embeddings(self, name: str) -> LazyArray:
        """Return the embeddings of that name."""
        return self._rows.embeddings(name, self.scratch / f"{name}.npy")

    def map(self, step: str, work: PieceWork, pieces: int) -> list[MappedArray]:
        """Return the array of each piece; only missing arrays are computed."""
        paths = [self.scratch / step / f"{piece}.npy" for piece in range(pieces)]
        missing = [piece for piece, path in enumerate(paths) if not intact(path)]
        with progress(f"fit: {step}", pieces, "pieces") as advance:
            advance(pieces - len(missing), "")
            if missing:
                for _ in self._engine.run(_WritePiece(work, paths), missing):
                    advance(1, "")
        return [MappedArray(path) for path in paths]

    def by_uid(self, name: str, dtype: npt.DTypeLike, fill: Fill) -> ByUid:
        """Return the n values that `fill` puts into an array, computed unless they are there."""
        return ByUid(self.uids, write_array(self.folder / f"{name}.npy", (len(self.uids),), dtype, fill))


@dataclass(frozen=True)
class _Among(Iterable[Batch]):
    """The pairs of some batches that are among the `uids`; picklable, for workers, which map the uids."""

    batches: Iterable[Batch]
    uids: MappedUids

    def __iter__(self) -> Iterator[Batch]:
        yield from among(self.batches, self.uids)


class _WritePiece:
    """Writes the array of a piece, so that nothing large goes back to the caller and a killed fit goes on from it."""

    def __init__(self, work: PieceWork, paths: Sequence[Path]) -> None:
        self.light = work.light
        self._work = work
        self._paths = paths

    def setup(self, device: str) -> None:
        """Prepare the worker; work without `setup` does not need torch."""
        if type(self._work).setup is not PieceWork.setup:
            self._work.setup(resolve_device(device))

    def __call__(self, piece: int) -> None:
        """Compute and write one piece."""
        save_array(self._paths[piece], self._work(piece))


def fit_on_corpus(
    pool: Pool, scorer: CorpusFilter, engine: Engine, survivors: Survivors | None = None
) -> Seconds:
    """Fit the filter on the features of the pool, or of the `survivors`; return the seconds that it took.

    All features are in the cache. The results stay in the folder of this filter, pool and survivors: a run that
    needs them again reads them, with their seconds.

    Raises:
        UserError: if the pool lacks a usable pair.
    """
    folder = fit_folder(pool, scorer, survivors)
    (features,) = scorer.features
    paths = [features_path(pool, shard, features) for shard in pool.shards(scorer.sources)]
    with locked(folder), _timed(folder):
        if survivors is None and not any(len(load_features(path).uids) for path in paths):
            raise pool.nothing_usable(sum((load_features(path).drops for path in paths), Counter[str]()))
        shards = [ShardBatches(pool, scorer, shard) for shard in pool.shards(scorer.sources)]
        scorer.fit_corpus(MappedCorpus(paths, shards, folder, engine, survivors))
    return _read_seconds(folder / "seconds.json")


@contextmanager
def _timed(folder: Path) -> Iterator[None]:
    """Record what the fit in the block takes, with the attempts that were stopped before; then remove its scratch.

    An attempt whose process is killed is not counted: nothing can record it.
    """
    scratch = folder / "scratch"
    done, stopped = folder / "seconds.json", scratch / "seconds.json"
    started = now()
    try:
        yield
    except BaseException:
        with suppress(OSError):  # a full disk; the error itself says so
            _write_seconds(stopped, _read_seconds(stopped) + since(started))
        raise
    if not intact(done):
        _write_seconds(done, _read_seconds(stopped) + since(started))
    shutil.rmtree(scratch, ignore_errors=True)


def _read_seconds(path: Path) -> Seconds:
    return Seconds(**json.loads(path.read_text())) if intact(path) else Seconds()


def _write_seconds(path: Path, seconds: Seconds) -> None:
    write_text(path, json.dumps(asdict(seconds)))
