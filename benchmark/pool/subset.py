"""The selected samples of a pool, at random offsets of its tars."""

import logging
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from benchmark.core.arrow import from_numpy
from benchmark.core.batch import CAPTION_MISMATCH, IMAGE_MISSING, Sample
from benchmark.core.errors import UserError
from benchmark.core.progress import tracked
from benchmark.core.uids import UID_DTYPE, UidArray, UidIndex, decode_uid, find_uids, sort_uids, unite_uids
from benchmark.engine.base import Engine, Work
from benchmark.pool.layout import Shard
from benchmark.pool.other_captions import OtherCaptions
from benchmark.pool.pool import Pool
from benchmark.pool.tar_index import TarIndex
from benchmark.pool.tar_reader import read_image

log = logging.getLogger(__name__)
IMAGE_NEEDS = frozenset({"image", "text"})
_LIGHT = 5  # tars of 10,000 samples, which take as long as two workers with their start


@dataclass(frozen=True)
class ShardSamples:
    """The selected samples of one tar; a sample that was selected twice is there twice."""

    shard: Shard
    samples: TarIndex


class Subset:
    """Random access to the selected samples of a local pool, in the order of their uids, with their other captions.

    ``subset[i]`` returns a `Sample`, or raises `SampleError` when its image cannot be decoded. Picklable, for
    loader workers. `missing` counts, by reason, selected uids that no tar holds and samples with captions that differ
    among the pool's files; `uids` are in order, `epochs` holds the indices of each epoch, `urls` the tars.

    Args:
        pool: the pool that holds the tars.
        uids: all selected uids.
        epochs: the uids of each epoch, sorted; a pair that is drawn more than once is there as often.
        captions: other captions of the samples.
        metadata: the pool with the metadata captions that count, if it is not `pool`.
    """

    def __init__(
        self,
        pool: Pool,
        uids: UidArray,
        epochs: Sequence[UidArray] = (),
        captions: OtherCaptions | None = None,
        metadata: Pool | None = None,
    ) -> None:
        parts = use_metadata_captions(selected_samples(pool, uids), metadata or pool)
        if not parts:
            raise UserError(
                f"none of the {len(uids):,} selected uids is in the tars of pool {pool.name} ({pool.url});"
                " give the tars that belong to its metadata"
            )
        self.pool = pool
        self.shards = [part.shard for part in parts]
        self.urls: list[str] = []
        for part in parts:
            with pool.local(part.shard) as path:
                self.urls.append(str(path))
        joined = np.concatenate([part.samples.uids for part in parts])
        order = sort_uids(joined)
        self.uids = joined[order]
        captions_of_parts = pa.concat_tables([part.samples.rows.select(["text"]) for part in parts])["text"]
        # In Arrow: not a Python string per sample.
        self._texts = captions_of_parts.combine_chunks().take(from_numpy(order))
        locations = [  # the number of the shard, the offset and the size of each image
            np.stack([np.full(len(part.samples), number), part.samples.offsets, part.samples.sizes], axis=1)
            for number, part in enumerate(parts)
        ]
        self._locations = np.concatenate(locations)[order]
        self._mismatched = np.concatenate([part.samples.mismatched for part in parts])[order]
        self.epochs: tuple[npt.NDArray[np.int64], ...] = (np.arange(len(order)),)
        if any(len(epoch) != len(uids) for epoch in epochs) or len(epochs) > 1:
            indices = [find_uids(self.uids, epoch) for epoch in epochs]
            self.epochs = tuple(rows[rows >= 0] for rows in indices)
        self.captions = captions or OtherCaptions()
        self.caption_weights = self.captions.weights
        counts = {IMAGE_MISSING: len(uids) - len(order), CAPTION_MISMATCH: int(self._mismatched.sum())}
        self.missing = Counter({reason: count for reason, count in counts.items() if count})

    def __len__(self) -> int:
        return len(self.uids)

    def __getitem__(self, item: int) -> Sample:
        shard, offset, size = self._locations[item]
        with Path(self.urls[shard]).open("rb") as file:
            image = read_image(file, int(offset), int(size))
        uid = decode_uid(self.uids[item])
        return Sample(uid, self._texts[item].as_py(), image, self.captions.by_uid.get(uid, ()))

    def identity(self, selection: str) -> str:
        """Return `selection`, the hash of the selected pairs: where their tars are does not matter."""
        return selection


def selected_samples(pool: Pool, uids: UidArray) -> list[ShardSamples]:
    """Return the selected samples of every tar that holds any; a uid in several tars is taken from the first."""
    distinct = unite_uids([uids])
    index = UidIndex(distinct)
    remaining = np.bincount(index.find(uids), minlength=len(distinct))  # copies to take of each
    parts = []
    shards = pool.shards(IMAGE_NEEDS)
    for shard in tracked("index", shards, len(shards), "shards"):
        with pool.local(shard) as path:
            samples = pool.index(shard, path)
        positions = index.find(samples.uids)
        rows = np.flatnonzero(positions >= 0)
        rows = rows[np.sort(np.unique(positions[rows], return_index=True)[1])]
        repeated = np.repeat(rows, remaining[positions[rows]])
        remaining[positions[rows]] = 0
        if len(repeated):
            parts.append(ShardSamples(shard, samples.take(repeated)))
    return parts


def captions_of(pool: Pool, uids: UidArray) -> list[str | None]:
    """Return the caption of each of n uids that counts in a local pool (see `benchmark.pool.pool`), or None."""
    return pool.captions(uids, [*pool.metadata, *pool.tars])


def use_metadata_captions(parts: Sequence[ShardSamples], pool: Pool) -> list[ShardSamples]:
    """Return the samples with the captions of the pool's metadata parquet, if it has them.

    Those that count are explained in `benchmark.pool.pool`. Where captions differ, samples are marked as mismatched
    and counted in one line of the log.
    """
    uids = np.concatenate([np.empty(0, UID_DTYPE), *(part.samples.uids for part in parts)])
    captions = iter(pool.captions(uids, pool.metadata))
    replaced = []
    for part in parts:
        own = part.samples.texts
        texts = [text if caption is None else caption for text, caption in zip(own, captions, strict=False)]
        differs = np.array([text != caption for text, caption in zip(own, texts, strict=True)], bool)
        samples = part.samples.with_captions(texts, part.samples.mismatched | differs)
        replaced.append(replace(part, samples=samples))
    if count := sum(int(part.samples.mismatched.sum()) for part in replaced):
        log.warning(
            "subset: %d of %d selected samples have other captions in the tars than in the metadata (%s);"
            " the metadata's are used",
            count,
            len(uids),
            CAPTION_MISMATCH,
        )
    return replaced


class IndexTar(Work[Shard, int]):
    """Makes the index of a local tar of `pool`, one of so many `tars`, and leaves it in the cache."""

    def __init__(self, pool: Pool, tars: int) -> None:
        self.pool = pool
        self.light = tars < _LIGHT

    def __call__(self, shard: Shard) -> int:
        """Index one tar; return its number of samples."""
        return len(self.pool.index(shard))


def index_tars(pool: Pool, engine: Engine) -> None:
    """Make the missing indexes of a local pool; a remote tar is indexed when its samples are fetched."""
    shards = pool.shards(IMAGE_NEEDS) if pool.is_local else []
    missing = [shard for shard in shards if not pool.has_index(shard)]
    if not missing:  # an engine may start a cluster
        return
    indexes = engine.run(IndexTar(pool, len(missing)), missing)
    for _ in tracked("index", indexes, len(missing), "shards"):
        pass
