"""The batches that filters and features read: samples of a shard, joined with the features under them."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field, replace
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
from PIL import Image

from benchmark.core.batch import Batch, model_text
from benchmark.core.cached_files import intact
from benchmark.core.devices import resolve_device
from benchmark.core.errors import UserError
from benchmark.core.launch import own_cores
from benchmark.core.locks import locked
from benchmark.core.mapped_files import MappedUids
from benchmark.core.paths import cache_folder
from benchmark.core.pixel_workers import PixelWorkers, Preprocesses, Preprocessing, expect_images
from benchmark.core.uids import UID_DTYPE, UidArray, UidIndex
from benchmark.core.usage import Seconds, now, since
from benchmark.pool.layout import Shard
from benchmark.pool.pool import Pool
from benchmark.scoring.feature_cache import FeatureTable, load_features, save_features
from filters.base import Features, Filter, Reader

if TYPE_CHECKING:
    import torch


class ShardReader:
    """Reads shards of a pool for filters and features; extracts the features that are not in the cache yet."""

    def __init__(self, pool: Pool, device: str) -> None:
        self.pool = pool
        self.device = device
        self._ready: dict[str, Features] = {}  # with their models loaded, by key
        # Of the last features that preprocess images.
        self._pixels: dict[tuple[str, ...], tuple[JointPixels, PixelWorkers]] = {}
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
                with ExitStack() as locks:
                    # In one order in all processes, so that none waits for another in a circle.
                    for path in sorted(paths[of.key()] for of in together):
                        locks.enter_context(locked(path))
                    left = {paths[of.key()]: of for of in together if not intact(paths[of.key()])}
                    if left:  # another process may have extracted them meanwhile
                        self._extract(shard, left)

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

    def _extract(self, shard: Shard, missing: Mapping[Path, Features]) -> None:
        started, drops = now(), Counter[str]()
        if self.pool.is_local and all(isinstance(of, Preprocesses) for of in missing.values()):
            expect_images(len(self.pool.index(shard)) * len(self.pool.tars))
        extractions = [self._begin(shard, features) for features in missing.values()]
        first, pixels = extractions[0], self._pixels_of([extraction.features for extraction in extractions])
        joint, workers = pixels or (None, None)
        for batch in self._samples(shard, first.features, first.tables, drops, workers):
            own = joint.split(batch) if joint else [batch] * len(extractions)
            for extraction, of_extraction in zip(extractions, own, strict=True):
                extraction.add(of_extraction)
        extracting = sum((extraction.spent for extraction in extractions), Seconds())
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

    def _pixels_of(self, together: Sequence[Features]) -> tuple[JointPixels, PixelWorkers] | None:
        """Return what preprocesses the images of features that are extracted together; None for each by itself."""
        preprocessing = [of.preprocessing() for of in together if isinstance(of, Preprocesses)]
        if (processes := own_cores()) == 1 or len(preprocessing) < len(together):
            return None
        key = tuple(of.key() for of in together)
        if key not in self._pixels:
            joint = JointPixels(preprocessing)
            self._pixels = {key: (joint, PixelWorkers(joint, processes, resolve_device(self.device)))}
        return self._pixels[key]


def take_among(batches: Iterable[Batch], uids: UidIndex | MappedUids | None) -> Iterator[Batch]:
    """Yield the samples of each batch that are among the `uids`; every batch if these are None."""
    for batch in batches:
        kept = batch if uids is None else batch.take(np.flatnonzero(uids.find(batch.uids) >= 0))
        if kept:
            yield kept


@dataclass(frozen=True)
class PoolBatches(Iterable[Batch]):
    """The batches of a pool for a reader, for `Filter.fit`; picklable, and can be iterated several times.

    Only pairs `among` the given uids and of the given `shards` are read; by default all, and one must be usable.
    """

    pool: Pool
    reader: Reader
    among: UidIndex | MappedUids | None = None
    shards: Sequence[Shard] | None = None

    def __iter__(self) -> Iterator[Batch]:
        """Yield the batches in the order of the shards."""
        reader = ShardReader(self.pool, "cpu")
        drops, batches = Counter[str](), 0
        for shard in self.pool.shards(self.reader.sources) if self.shards is None else self.shards:
            for batch in take_among(reader.batches(shard, self.reader, drops), self.among):
                batches += 1
                yield batch
        if not batches and self.among is None and self.shards is None:
            raise self.pool.nothing_usable(drops)


def features_path(pool: Pool, shard: Shard, features: Features) -> Path:
    """Return the path of a shard's cached features."""
    folder = cache_folder("features", pool.key, features.key())
    return folder / f"{shard.name}-{shard.fingerprint}.arrow"


def shards_without_features(pool: Pool, reader: Reader, shards: Iterable[Shard]) -> list[Shard]:
    """Return the shards that lack some of the features under `reader`, at any depth, in the cache."""
    features = reader.all_features().values()
    return [shard for shard in shards if not all(intact(features_path(pool, shard, of)) for of in features)]


@dataclass
class Extraction:
    """The features of one shard, while they are extracted on top of `tables`; `spent` are the seconds so far."""

    features: Features
    tables: Sequence[FeatureTable]
    spent: Seconds
    _uids: list[UidArray] = field(default_factory=lambda: [np.empty(0, UID_DTYPE)])
    _columns: dict[str, list[Any]] = field(default_factory=lambda: defaultdict(list))

    def add(self, batch: Batch) -> None:
        """Extract from those samples of a batch that the features under these have."""
        started = now()
        if joined := join(batch, self.tables):
            self._uids.append(joined.uids)
            for name, values in self.features.extract(joined).items():
                self._columns[name].append(values)
        self.spent += since(started)

    def drops(self, read: Counter[str]) -> Counter[str]:
        """Return the drop counts, with the counts of reading: a sample that is dropped twice counts once."""
        drops = Counter(read)
        for table in self.tables:
            drops |= table.drops
        return drops

    def arrays(self) -> tuple[UidArray, dict[str, Any]]:
        """Return the n uids, and the columns of n rows."""
        columns = {
            name: np.concatenate(parts) if isinstance(parts[0], np.ndarray) else [*chain(*parts)]
            for name, parts in self._columns.items()
        }
        return np.concatenate(self._uids), columns


class JointPixels:
    """Turns an image into the pixels (c, h, w) of one or more models, one after the other: it is decoded once."""

    def __init__(self, parts: Sequence[Preprocessing]) -> None:
        self._parts = parts
        self._shapes = [part(Image.new("RGB", (64, 64))).shape for part in parts]

    def __call__(self, image: Image.Image) -> torch.Tensor:
        """Return the pixels of all models, shape (sum of c h w,), or (c, h, w) of a single one."""
        if len(self._parts) == 1:
            return self._parts[0](image)
        import torch

        return torch.cat([part(image).flatten() for part in self._parts])

    def split(self, batch: Batch) -> list[Batch]:
        """Return the batch of each model; `batch` has a row of pixels per image, or the images."""
        if batch.pixels is None or len(self._parts) == 1:
            return [batch] * len(self._parts)
        columns = batch.pixels.split([shape.numel() for shape in self._shapes], dim=1)
        return [
            replace(batch, pixels=pixels.reshape(-1, *shape))
            for pixels, shape in zip(columns, self._shapes, strict=True)
        ]


def reading_together(features: Iterable[Features], processes: int) -> list[list[Features]]:
    """Group features that read the same images, columns and batch size, as pixels or (in one process) as images."""
    groups: dict[Any, list[Features]] = defaultdict(list)
    for number, of in enumerate(features):
        pixels = processes > 1 and isinstance(of, Preprocesses)
        columns = frozenset(of.needs) - {"image", "text"}
        groups[(of.batch_size, columns, pixels) if "image" in of.needs else number].append(of)
    return list(groups.values())


def join(batch: Batch, tables: Sequence[FeatureTable]) -> Batch:
    """Add the rows of each table to the batch; leave out samples that a table lacks."""
    columns: dict[str, npt.NDArray[Any]] = {}
    for table in tables:
        rows = table.index.find(batch.uids)
        kept = np.flatnonzero(rows >= 0)
        if len(kept) < len(batch):
            batch, rows = batch.take(kept), rows[kept]
            columns = {name: values[kept] for name, values in columns.items()}
        columns |= table.take(rows)
    return replace(batch, features=columns) if tables else batch


def check_columns(pool: Pool, scorer: Filter) -> None:
    """Raise `UserError` if the filter, or a part of it, reads fields that the pool lacks or hides; opens no tar."""
    for leaf in scorer.leaves():
        secret = sorted(leaf.sources & pool.hidden)
        if secret and not leaf.reads_hidden:
            raise UserError(
                f"pool {pool.name} hides the column {secret[0]!r} from filters; only filter=oracle reads it"
            )
        pool.shards(leaf.sources)
