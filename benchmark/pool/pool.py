"""A pool: shards of image-caption pairs in img2dataset / DataComp layout, on a disk or behind an fsspec URL.

Which caption counts. A pool may hold the caption of a sample three times: in the metadata parquet, in the tar's JSON
(which img2dataset writes from the same row) and in the tar's ``.txt``. Text filters score the parquet's, so the
metadata's caption counts if it has one: the parquet's for training and resharding, the JSON's for samples read from
tars. The ``.txt`` counts only if the metadata lacks a caption. A sample without a uid gets the hash of its url and
the caption that counts, so parquet and tar give it the same uid; without a url, the hash of its key (img2dataset's,
or the name of its files in the tar) and caption. If the metadata has neither, only captions distinguish samples, and
a warning says so. If the files disagree the sample is kept, and counted as ``caption_mismatch`` when the selected
samples are opened.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext
from decimal import Decimal
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pyarrow.parquet as pq

from benchmark.core.arrow import DAMAGE
from benchmark.core.batch import (
    CAPTION_MISSING,
    DOWNLOAD_FAILED,
    KEY_WITH_DOT,
    SHARD_CORRUPT,
    UID_INVALID,
    Batch,
    counts,
)
from benchmark.core.cached_files import intact
from benchmark.core.errors import UserError
from benchmark.core.hashes import hash_json
from benchmark.core.locks import locked
from benchmark.core.paths import cache_folder
from benchmark.core.pixel_workers import PixelWorkers
from benchmark.core.ranges import Name, PositiveInt
from benchmark.core.sanitize import redact
from benchmark.core.storage import download, is_remote, open_file
from benchmark.core.uids import UidArray, UidIndex, find_uids, take_first, unite_uids
from benchmark.pool.image_parquet import write_as_tar
from benchmark.pool.layout import PARQUET, TAR, PoolFields, Shard, find_shards
from benchmark.pool.parquet_reader import downloaded, read_metadata
from benchmark.pool.sample_fields import without_views
from benchmark.pool.tar_index import VERSION, TarIndex, index_tar, load_index, save_index
from benchmark.pool.tar_reader import read_images, read_pixels, read_texts

# Part of every cache key: raised when the same files are read into other samples.
READER_VERSION = 5
# Fields that every sample has; whatever else a filter needs is a metadata column.
SAMPLE_FIELDS = frozenset({"image", "text"})
NUMBERS = (int, float, Decimal)
# What to do about a pool without usable pairs, by the first of these reasons that it has.
HINTS = {
    KEY_WITH_DOT: "names of files in tars must have one dot, as webdataset ends the key there: write the tars again,"
    " with names such as photo_00021.jpg",
    UID_INVALID: "a uid must be 32 hexadecimal digits or a UUID: name another column with pool.columns.uid=NAME, or"
    " rename it, as pairs without uid get a hash of url and caption",
    CAPTION_MISSING: "",  # depends on the columns
    SHARD_CORRUPT: "copy or download its files again",
}


class Pool:
    """A pool of image-caption pairs.

    Args:
        name: what results call it.
        url: a folder or fsspec URL, or patterns of files (see `find_shards`).
        columns: our column names to the file's (``{"text": "TEXT", "url": "URL"}`` for LAION-400M).
        scale: the pool is a 1:scale model of the paper's; size and budget shrink by it.
        hidden: metadata columns that only ``oracle`` may read.
        nsfw: values of the column ``nsfw`` of samples that are kept; () for all, and no such column is needed.
        exclude: files with the pairs that scores lack, see `excluded_uids`.

    Raises:
        UserError: when `url` is not a folder of shards.
    """

    def __init__(
        self,
        name: Name,
        url: str,
        columns: Mapping[str, str] | None = None,
        scale: PositiveInt = 1,
        hidden: Sequence[str] = (),
        nsfw: Sequence[str] = (),
        exclude: str | Sequence[str] = (),
    ) -> None:
        self.name = name
        self.url = str(url).rstrip("/")
        self.columns = dict(columns or {})
        self.scale = scale
        self.hidden = frozenset(hidden)
        self.nsfw = sorted(nsfw)
        self.exclude = [exclude] if isinstance(exclude, str) else list(exclude)
        self._tars, self._metadata = find_shards(self.url)
        if not self._tars and not self._metadata:
            raise UserError(
                f"pool.url={self.url} must be a folder with shards/*.tar, *.tar, metadata/*.parquet or *.parquet;"
                " give the one that img2dataset or DataComp's download wrote, or files as FOLDER/{00000..00099}.tar"
            )
        self.fields = PoolFields(name, self.columns, self._metadata, self._tars)

    def __repr__(self) -> str:
        files = f"{len(self._tars)} tars, {len(self._metadata)} parquet files"
        return f"Pool({self.name!r}, {redact(self.url)!r}: {files})"

    @property
    def key(self) -> str:
        """The folder of its files in the cache: how shards are read, and which samples are kept.

        Pools that are read alike share it, wherever they are and whatever they are called. Files in it are named by
        the content of shards (`Shard.fingerprint`), or by their `Shard.version` if they are soon made again.
        """
        return f"pool-{hash_json([self.columns, READER_VERSION, self.nsfw, self.fields.keyed], 12)}"

    @property
    def is_local(self) -> bool:
        """Whether the pool has tars on this machine; other tars are there while they are read, see `local`."""
        return not is_remote(self.url) and self.fields.image_column is None

    @property
    def tars(self) -> list[Shard]:
        """The shards with images: tars, or parquet files with images inside."""
        return list(self._tars if self.fields.image_column is None else self._metadata)

    @property
    def metadata(self) -> list[Shard]:
        """The parquet files with the metadata of samples."""
        return list(self._metadata)

    def shards(self, needs: frozenset[str]) -> list[Shard]:
        """Return the shards that a filter with `needs` reads: shards with images, else only metadata."""
        self.fields.check_names()
        shards = self.tars if "image" in needs else self.metadata or self.tars
        if not shards:
            raise UserError(
                f"pool {self.name} ({self.url}) holds no tars, and images are needed; {self.fields.images_hint()}"
            )
        _ = self.fields.keyed  # its warning is of this process, and not of every worker
        if not shards[0].is_tar:
            self.fields.check_columns(needs - SAMPLE_FIELDS | {"text"} | ({"nsfw"} if self.nsfw else set()))
        return shards

    def batches(
        self,
        shard: Shard,
        needs: frozenset[str],
        batch_size: int,
        drops: Counter[str],
        workers: PixelWorkers | None = None,
    ) -> Iterator[Batch]:
        """Yield the usable samples of `shard` in batches; count the others by reason in `drops`.

        With `workers`, once they have been offered `MANY_IMAGES`, batches hold the pixels of images in their place.
        """
        extra_columns = needs - SAMPLE_FIELDS
        if "image" not in needs and not shard.is_tar:
            texts, by_row = "text" in needs, self.fields.image_column is not None
            yield from read_metadata(
                shard.url, self.columns, extra_columns, batch_size, drops, self.nsfw, texts, by_row
            )
        elif "image" in needs:
            with self.local(shard) as path:
                index = self.index(shard, path, extra_columns)
                drops.update(index.drops)
                if workers is not None and workers.worth_starting(len(index)):
                    yield from read_pixels(path, index, batch_size, drops, workers)
                else:
                    yield from read_images(path, index, batch_size, drops)
        else:
            index = self.index(shard, None, extra_columns)
            drops.update(index.drops)
            yield from read_texts(index, batch_size)

    def index(
        self, shard: Shard, path: Path | None = None, extra_columns: frozenset[str] = frozenset()
    ) -> TarIndex:
        """Return the index of a tar; it is cached unless it has extra columns, and mapped from the cache.

        `path` is its local copy; without one, a tar is downloaded only if its index is missing.
        """
        cached = self._index_path(shard)
        if not extra_columns and intact(cached):
            return load_index(cached)
        with self.local(shard) if path is None else nullcontext(path) as local:
            index = index_tar(local, self.columns, extra_columns, self.nsfw, keyed=self.fields.keyed)
        if not extra_columns:
            save_index(cached, index)
        return index

    def has_index(self, shard: Shard) -> bool:
        """Tell whether the index of a tar is in the cache."""
        return intact(self._index_path(shard))

    @contextmanager
    def local(self, shard: Shard) -> Iterator[Path]:
        """Yield the path of a local tar of `shard`; a remote one is downloaded, and removed afterwards.

        So is the tar that is written from a parquet with images. A killed download stays, and the next process
        continues it.
        """
        if self.is_local:
            yield shard.path
            return
        path = cache_folder("downloads", self.key) / f"{shard.name}-{shard.version}{TAR}"
        path.parent.mkdir(parents=True, exist_ok=True)
        parquet = None if shard.is_tar else path.with_suffix(PARQUET)
        with locked(path):
            if is_remote(shard.url):
                download(shard.url, parquet or path)
            try:
                if parquet:
                    source = str(parquet) if is_remote(shard.url) else shard.url
                    write_as_tar(source, shard.url, self.columns, path)
                    parquet.unlink(missing_ok=True)
                yield path
            finally:
                path.unlink(missing_ok=True)

    def count(self) -> int | None:
        """Return how many samples the metadata lists, without failed downloads if it is local; None without any."""
        if not self._metadata:
            return None
        total, drops = 0, Counter[str]()
        for shard in self._metadata:
            try:
                with open_file(shard.url) as file:
                    parquet = pq.ParquetFile(file)
                    total += parquet.metadata.num_rows
                    if self.is_local and "status" in parquet.schema_arrow.names:
                        status = without_views(parquet.read(["status"])["status"].combine_chunks())
                        downloaded(status, drops)
            except DAMAGE:
                continue  # counted by its reason when it is read
        return total - drops[DOWNLOAD_FAILED]

    def find(
        self, uids: UidArray, shards: Iterable[Shard], needs: frozenset[str]
    ) -> Iterator[tuple[npt.NDArray[np.int64], Batch]]:
        """Yield the samples with one of n different `uids`, and their rows in `uids`; of equal uids the first."""
        index, found = UidIndex(uids), np.zeros(len(uids), bool)
        for shard in shards:
            if found.all():
                return
            for batch in self.batches(shard, needs, 65536, Counter()):
                rows = index.find(batch.uids)
                if len(first := take_first(rows, found)):
                    yield rows[first], batch.take(first)

    def captions(self, uids: UidArray, shards: Iterable[Shard]) -> list[str | None]:
        """Return the caption that the first of the shards with it has of each of n uids, or None."""
        distinct = unite_uids([uids])
        captions = np.full(len(distinct), None, object)
        for rows, batch in self.find(distinct, shards, frozenset({"text"})):
            captions[rows] = batch.texts
        return list(captions[find_uids(distinct, uids)])

    def metadata_numbers(self, uids: UidArray, names: tuple[str, ...]) -> npt.NDArray[np.float64]:
        """Return the numbers that the metadata parquet has in m columns of each of n uids, shape (n, m), else NaN."""
        distinct = unite_uids([uids])
        numbers = np.full((len(distinct), len(names)), np.nan)
        for rows, batch in self.find(distinct, self._metadata, frozenset(names)):
            for position, name in enumerate(names):
                values = batch.columns[name].tolist()
                numbers[rows, position] = [float(v) if isinstance(v, NUMBERS) else np.nan for v in values]
        return np.asarray(numbers[find_uids(distinct, uids)])

    def _index_path(self, shard: Shard) -> Path:
        return cache_folder("tar_index", self.key) / f"{shard.name}-{shard.version}-v{VERSION}.arrow"

    def nothing_usable(self, drops: Counter[str]) -> UserError:
        """Return the error for a pool without usable samples, given the counts by reason."""
        reason = next((reason for reason in HINTS if drops[reason]), "")
        hint = self.fields.naming_hint() if reason == CAPTION_MISSING else HINTS.get(reason)
        reasons = counts(drops) or "its files are empty"
        text = f"pool {self.name} ({self.url}) has no usable pair ({reasons})"
        return UserError(f"{text}; {hint}" if hint else text)
