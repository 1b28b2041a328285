"""The batches that filters and features read: samples of a shard, joined with the features under them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from benchmark.core.batch import Batch
from benchmark.core.locks import locked
from benchmark.core.paths import cache_dir
from benchmark.core.pixel_workers import PixelWorkers, Preprocesses
from benchmark.core.uids import UID_DTYPE
from benchmark.core.usage import Seconds, now, since
from benchmark.pool.layout import Shard
from benchmark.pool.pool import Pool
from benchmark.scoring.feature_cache import FeatureTable, load_features, save_features
from benchmark.scoring.survivors import Survivors, among
from filters.base import Features, Reader

if TYPE_CHECKING:
    import torch


class ShardReader:
    """Reads shards of a pool for filters and features; extracts the features that are not in the cache yet."""

    def __init__(self, pool: Pool, device: torch.device) -> None:
        self.pool = pool
        self.device = device
        self._ready: set[str] = set()
        self._workers: dict[str, PixelWorkers] = {}  # of the last features that preprocess images
        self._tables: dict[Path, FeatureTable] = {}  # of the last shard only

    def batches(self, shard: Shard, reader: Reader, drops: Counter[str]) -> Iterator[Batch]:
        """Yield the samples that `reader` and all of its features can use; count the others in `drops`."""
        tables = [self.table(shard, features) for features in reader.features]
        shard_drops = Counter[str]()
        for batch in self._samples(shard, reader, tables, shard_drops):
            if joined := _join(batch, tables):
                yield joined
        for table in tables:
            shard_drops |= table.drops  # the same samples: one that is dropped twice counts once
        drops.update(shard_drops)

    def prepare(self, shard: Shard, reader: Reader) -> dict[str, Seconds]:
        """Extract and cache missing features under `reader`; return the seconds of all of them by key."""
        seconds: dict[str, Seconds] = {}
        for features in reader.features:
            seconds |= self.prepare(shard, features)
            table = self.table(shard, features)
            seconds[features.key()] = Seconds(table.seconds, table.processor)
        return seconds

    def table(self, shard: Shard, features: Features) -> FeatureTable:
        """Return the features of a shard; extract and cache them if missing."""
        path = features_path(self.pool, shard, features)
        if path not in self._tables:
            with locked(path):
                if not path.is_file():
                    self._extract(shard, features, path)
            self._tables = {p: table for p, table in self._tables.items() if p.name == path.name}
            self._tables[path] = load_features(path)
        return self._tables[path]

    def _samples(
        self, shard: Shard, reader: Reader, tables: Sequence[FeatureTable], drops: Counter[str]
    ) -> Iterator[Batch]:
        if reader.needs or not tables:
            workers = self._workers.get(reader.key())
            yield from self.pool.batches(shard, reader.needs, reader.batch_size, drops, workers)
            return
        uids = tables[0].uids
        for start in range(0, len(uids), reader.batch_size):
            yield Batch(uids[start : start + reader.batch_size], [])

    def _extract(self, shard: Shard, features: Features, path: Path) -> None:
        self.prepare(shard, features)  # the features under these have seconds of their own
        started, key = now(), features.key()
        drops = Counter[str]()
        uids = [np.empty(0, UID_DTYPE)]
        columns: dict[str, list[Any]] = {}
        if key not in self._ready:  # load models only once a shard lacks its features
            import torch

            features.setup(self.device)
            self._ready.add(key)
            if isinstance(features, Preprocesses) and (processes := torch.get_num_threads()) > 1:
                self._workers = {key: PixelWorkers(features.preprocessing(), processes, self.device)}
        for batch in self.batches(shard, features, drops):
            uids.append(batch.uids)
            for name, values in features.extract(batch).items():
                columns.setdefault(name, []).append(values)
        joined = {name: _concatenate(parts) for name, parts in columns.items()}
        spent = since(started)
        save_features(path, np.concatenate(uids), joined, drops, spent.clock, spent.processor)


class PoolBatches(Iterable[Batch]):
    """The batches of a pool, or of some of its pairs, which can be iterated several times: what `Filter.fit` gets."""

    def __init__(
        self, pool: Pool, reader: Reader, device: torch.device, survivors: Survivors | None = None
    ) -> None:
        self.pool = pool
        self.reader = reader
        self.device = device
        self.survivors = survivors

    def __iter__(self) -> Iterator[Batch]:
        """Yield every batch of the pool for the reader, in the order of the shards."""
        shards = ShardReader(self.pool, self.device)
        index = self.survivors.index() if self.survivors else None
        drops, batches = Counter[str](), 0
        for shard in self.pool.shards(self.reader.sources):
            for batch in among(shards.batches(shard, self.reader, drops), index):
                batches += 1
                yield batch
        if not batches and index is None:
            raise self.pool.nothing_usable(drops)


def features_path(pool: Pool, shard: Shard, features: Features) -> Path:
    """Return the path of a shard's cached features."""
    folder = cache_dir() / "features" / pool.key / features.key()
    return folder / f"{shard.name}-{shard.fingerprint}.arrow"


def shards_without_features(pool: Pool, reader: Reader, shards: Sequence[Shard]) -> list[Shard]:
    """Return the shards that lack some of the features under `reader`, at any depth, in the cache."""
    return [shard for shard in shards if not _has_features(pool, shard, reader)]


def _has_features(pool: Pool, shard: Shard, reader: Reader) -> bool:
    return all(
        features_path(pool, shard, features).is_file() and _has_features(pool, shard, features)
        for features in reader.features
    )


def _join(batch: Batch, tables: Sequence[FeatureTable]) -> Batch:
    """Add the rows of each table to the batch; leave out samples that a table lacks."""
    columns: dict[str, npt.NDArray[Any]] = {}
    for table in tables:
        rows = table.index.find(batch.uids)
        kept = np.flatnonzero(rows >= 0)
        if len(kept) < len(batch):
            batch, rows = batch.take(kept), rows[kept]
            columns = {name: values[kept] for name, values in columns.items()}
        columns |= {name: values[rows] for name, values in table.columns.items()}
    return replace(batch, features=columns) if tables else batch


def _concatenate(parts: Sequence[Any]) -> Any:
    if isinstance(parts[0], np.ndarray):
        return np.concatenate(parts)
    return [value for part in parts for value in part]
