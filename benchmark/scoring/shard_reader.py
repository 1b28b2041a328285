"""The batches that filters and features read: samples of a shard, joined with the features under them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace
from pathlib import Path

from benchmark.core.batch import Batch, model_text
from benchmark.core.cached_files import intact
from benchmark.core.devices import resolve_device
from benchmark.core.launch import own_cores
from benchmark.core.locks import locked
from benchmark.core.paths import cache_folder
from benchmark.core.pixel_workers import PixelWorkers, Preprocesses
from benchmark.core.usage import Seconds, now, since
from benchmark.pool.layout import Shard
from benchmark.pool.pool import Pool
from benchmark.scoring.extraction import (
    Extraction,
    SharedPixels,
    join,
    reading_together,
)
from benchmark.scoring.feature_cache import FeatureTable, load_features, save_features
from benchmark.scoring.survivors import Survivors, among
from filters.base import Features, Reader


class ShardReader:
    """Reads shards of a pool for filters and features; extracts the features that are not in the cache yet."""

    def __init__(self, pool: Pool, device: str) -> None:
        self.pool = pool
        self.device = device
        self._ready: dict[str, Features] = {}  # with their models loaded, by key
        self._pixels: dict[tuple[str, ...], SharedPixels] = {}  # of the last features that preprocess images
        self._tables: dict[Path, FeatureTable] = {}  # of the last shard only

    def batches(self, shard: Shard, reader: Reader, drops: Counter[str]) -> Iterator[Batch]:
        """Yield the samples that `reader` and all of its features can use; count the others in `drops`."""
        tables = [self.table(shard, features) for features in reader.features]
        shard_drops = Counter[str]()
        for batch in self._samples(shard, reader, tables, shard_drops):
            if joined := join(batch, tables):
                yield joined
        for table in tables:
            shard_drops |= table.drops  # the same samples: a sample that is dropped twice counts once
        drops.update(shard_drops)

    def prepare(self, shard: Shard, reader: Reader) -> dict[str, Seconds]:
        """Extract and cache missing features under `reader`; return the seconds of all of them by key."""
        self.extract(shard, reader.features)
        return {key: self.table(shard, of).cost for key, of in reader.all_features().items()}

    def extract(self, shard: Shard, features: Iterable[Features]) -> None:
        """Extract and cache missing features, and missing features under them.

        Features that read the same batches are extracted together: each image is read and decoded once for them.
        """
        needed = {key: of for top in features for key, of in (top.all_features() | {top.key(): top}).items()}
        paths = {key: features_path(self.pool, shard, of) for key, of in needed.items()}
        while missing := {key: of for key, of in needed.items() if not intact(paths[key])}:
            ready = [of for of in missing.values() if not missing.keys() & {u.key() for u in of.features}]
            for together in reading_together(ready, own_cores()):
                self._extract_if_missing(shard, together)

    def table(self, shard: Shard, features: Features) -> FeatureTable:
        """Return the features of a shard; extract and cache them if missing."""
        path = features_path(self.pool, shard, features)
        if path not in self._tables:
            self.extract(shard, [features])
            self._tables = {p: table for p, table in self._tables.items() if p.name == path.name}
            self._tables[path] = load_features(path)
        return self._tables[path]

    def _samples(
        self,
        shard: Shard,
        reader: Reader,
        tables: Sequence[FeatureTable],
        drops: Counter[str],
        workers: PixelWorkers | None = None,
    ) -> Iterator[Batch]:
        """Yield the samples of a shard; all captions that filters and features get come from here."""
        if reader.needs or not tables:
            for batch in self.pool.batches(shard, reader.needs, reader.batch_size, drops, workers):
                yield replace(batch, texts=list(map(model_text, batch.texts)))
            return
        uids = tables[0].uids
        for start in range(0, len(uids), reader.batch_size):
            yield Batch(uids[start : start + reader.batch_size], [])

    def _extract_if_missing(self, shard: Shard, together: Sequence[Features]) -> None:
        """Extract features that read the same batches, unless another process extracts them meanwhile."""
        paths = {features_path(self.pool, shard, features): features for features in together}
        with ExitStack() as locks:
            # In one order in all processes, so that none waits for another in a circle.
            for path in sorted(paths):
                locks.enter_context(locked(path))
            if missing := {path: of for path, of in paths.items() if not intact(path)}:
                self._extract(shard, missing)

    def _extract(self, shard: Shard, missing: Mapping[Path, Features]) -> None:
        extractions = [self._begin(shard, features) for features in missing.values()]
        begun = sum((extraction.spent for extraction in extractions), Seconds())
        first, pixels = extractions[0], self._pixels_of([extraction.features for extraction in extractions])
        started, drops = now(), Counter[str]()
        workers = pixels.workers if pixels else None
        for batch in self._samples(shard, first.features, first.tables, drops, workers):
            own = pixels.split(batch) if pixels else [batch] * len(extractions)
            for extraction, of_extraction in zip(extractions, own, strict=True):
                extraction.add(of_extraction)
        extracting = sum((extraction.spent for extraction in extractions), begun.times(-1))
        reading = (since(started) + extracting.times(-1)).times(1 / len(extractions))
        for path, extraction in zip(missing, extractions, strict=True):
            started = now()
            arrays = extraction.arrays()
            spent = reading + extraction.spent + since(started)
            save_features(path, *arrays, extraction.drops(drops), spent)

    def _begin(self, shard: Shard, features: Features) -> Extraction:
        """Load the models, unless an earlier shard has."""
        tables = [self.table(shard, under) for under in features.features]
        started, key = now(), features.key()
        if key not in self._ready:
            features.setup(resolve_device(self.device))
            self._ready[key] = features
        return Extraction(self._ready[key], tables, since(started))

    def _pixels_of(self, together: Sequence[Features]) -> SharedPixels | None:
        """Return who preprocesses the images of features that are extracted together; None for each by itself."""
        preprocessing = [of.preprocessing() for of in together if isinstance(of, Preprocesses)]
        if (processes := own_cores()) == 1 or len(preprocessing) < len(together):
            return None
        key = tuple(of.key() for of in together)
        if key not in self._pixels:
            self._pixels = {key: SharedPixels(preprocessing, processes, resolve_device(self.device))}
        return self._pixels[key]


@dataclass(frozen=True)
class PoolBatches(Iterable[Batch]):
    """The batches of a pool, or of some of its pairs, which can be iterated several times; for `Filter.fit`."""

    pool: Pool
    reader: Reader
    device: str
    survivors: Survivors | None = None

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


@dataclass(frozen=True)
class ShardBatches(Iterable[Batch]):
    """The batches of one shard; picklable, for workers."""

    pool: Pool
    reader: Reader
    shard: Shard

    def __iter__(self) -> Iterator[Batch]:
        """Yield every batch of the shard for the reader, whose features are in the cache."""
        yield from ShardReader(self.pool, "cpu").batches(self.shard, self.reader, Counter())


def features_path(pool: Pool, shard: Shard, features: Features) -> Path:
    """Return the path of a shard's cached features."""
    folder = cache_folder("features", pool.key, features.key())
    return folder / f"{shard.name}-{shard.fingerprint}.arrow"


def shards_without_features(pool: Pool, reader: Reader, shards: Sequence[Shard]) -> list[Shard]:
    """Return the shards that lack some of the features under `reader`, at any depth, in the cache."""
    features = reader.all_features().values()
    return [shard for shard in shards if not all(intact(features_path(pool, shard, of)) for of in features)]
