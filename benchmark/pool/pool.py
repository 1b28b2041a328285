"""A pool: shards of image-caption pairs in img2dataset / DataComp layout, on a disk or behind an fsspec URL.

Which caption counts. A pool may hold the caption of a sample three times: in the metadata parquet, in the tar's JSON
(which img2dataset writes from the same row) and in the tar's ``.txt``. Text filters score the parquet's, so the
metadata's caption counts wherever there is one: the parquet's for what is trained on or resharded, the JSON's for
what is read from tars. The ``.txt`` counts only where the metadata has no caption. A sample that brings no uid gets
the hash of its url and the caption that counts, so parquet and tar give it the same one. Where the files disagree the
sample is kept, and counted as ``caption_mismatch`` when the selected samples are opened.
"""

import hashlib
import json
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from tempfile import TemporaryDirectory

import fsspec
import numpy as np
import numpy.typing as npt
import pyarrow.parquet as pq

from benchmark.core.batch import Batch
from benchmark.core.errors import UserError, did_you_mean
from benchmark.core.paths import cache_dir
from benchmark.core.ranges import PositiveInt
from benchmark.core.uids import UidArray, UidIndex, unite_uids
from benchmark.pool.parquet_reader import read_captions, read_metadata, read_numbers
from benchmark.pool.sample_fields import pick_column
from benchmark.pool.tar_index import TarIndex, index_tar
from benchmark.pool.tar_reader import load_index, read_images, read_texts, save_index

# Part of every cache key: raised when the same files are read into other samples.
READER_VERSION = 2
TAR_PATTERNS = ("shards/*.tar", "*.tar")
METADATA_PATTERNS = ("metadata/*.parquet", "*.parquet", "shards/*.parquet")
# Fields that every sample has; whatever else a filter needs is a metadata column.
SAMPLE_FIELDS = frozenset({"image", "text"})


@dataclass(frozen=True)
class Shard:
    """One tar or one metadata parquet. `fingerprint` changes when the file does."""

    name: str
    url: str
    fingerprint: str

    @property
    def is_tar(self) -> bool:
        """Whether this shard holds images."""
        return self.url.endswith(".tar")


class Pool:
    """A pool of image-caption pairs.

    Args:
        name: what results call it.
        url: a folder or fsspec URL: ``shards/*.tar`` and ``metadata/*.parquet``, or img2dataset's flat layout.
        columns: our column names to the file's (``{"text": "TEXT", "url": "URL"}`` for LAION-400M).
        scale: the pool is a 1:scale model of the paper's; size and budget shrink by it.
        hidden: metadata columns that only an upper bound (``oracle``) may read.
        nsfw: values of the column ``nsfw`` of samples that are kept; () for all, and no such column is needed.

    Raises:
        UserError: when `url` is not a folder of shards.
    """

    def __init__(
        self,
        name: str,
        url: str,
        columns: Mapping[str, str] | None = None,
        scale: PositiveInt = 1,
        hidden: Sequence[str] = (),
        nsfw: Sequence[str] = (),
    ) -> None:
        self.name = name
        self.url = str(url).rstrip("/")
        self.columns = dict(columns or {})
        self.scale = scale
        self.hidden = frozenset(hidden)
        self.nsfw = sorted(nsfw)
        self._tars = self._find(TAR_PATTERNS)
        self._metadata = self._find(METADATA_PATTERNS)
        if not self._tars and not self._metadata:
            raise UserError(
                f"pool.url={self.url} must be a folder with {' or '.join(TAR_PATTERNS + METADATA_PATTERNS)};"
                " give the one that img2dataset or DataComp's download wrote"
            )

    @property
    def key(self) -> str:
        """What identifies the pool in the cache: its url, how its files are read, and which samples are kept."""
        inputs = [self.url, self.columns, READER_VERSION, *([self.nsfw] if self.nsfw else [])]
        digest = hashlib.sha256(json.dumps(inputs, sort_keys=True).encode())
        return f"{self.name}-{digest.hexdigest()[:12]}"

    @property
    def is_local(self) -> bool:
        """Whether the tars can be read at random offsets."""
        return "://" not in self.url or self.url.startswith("file://")

    @property
    def tars(self) -> list[Shard]:
        """The shards with images."""
        return list(self._tars)

    def shards(self, needs: frozenset[str]) -> list[Shard]:
        """Return the shards that a filter with `needs` reads: tars for images, else metadata alone."""
        if "image" in needs:
            if not self._tars:
                raise UserError(
                    f"pool {self.name} ({self.url}) holds metadata only, no tars, and images are needed; choose pairs"
                    " by their captions with `python -m benchmark task=export filter=icc size=200k` on this pool, and"
                    " download their images with the img2dataset command in the README.md that it writes"
                )
            return self._tars
        if self._metadata:
            self._check_columns(needs - SAMPLE_FIELDS | ({"nsfw"} if self.nsfw else set()))
            return self._metadata
        return self._tars

    def batches(
        self, shard: Shard, needs: frozenset[str], batch_size: int, drops: Counter[str]
    ) -> Iterator[Batch]:
        """Yield the usable samples of `shard` in batches; count the others by reason in `drops`."""
        extra_columns = needs - SAMPLE_FIELDS
        if not shard.is_tar:
            yield from read_metadata(shard.url, self.columns, extra_columns, batch_size, drops, self.nsfw)
            return
        with self.local(shard) as path:
            index = self.index(shard, path, extra_columns)
            drops.update(index.drops)
            if "image" in needs:
                yield from read_images(path, index, batch_size, drops)
            else:
                yield from read_texts(index, batch_size)

    def index(self, shard: Shard, path: Path, extra_columns: frozenset[str] = frozenset()) -> TarIndex:
        """Return the index of a tar whose local copy is `path`; it is cached unless it has extra columns."""
        if extra_columns:
            return index_tar(path, self.columns, extra_columns, self.nsfw)
        cached = cache_dir() / "index" / self.key / f"{shard.name}-{shard.fingerprint}.parquet"
        if cached.is_file():
            return load_index(cached)
        index = index_tar(path, self.columns, nsfw=self.nsfw)
        save_index(cached, index)
        return index

    @contextmanager
    def local(self, shard: Shard) -> Iterator[Path]:
        """Yield a local path of `shard`; a remote one is downloaded and removed afterwards."""
        if self.is_local:
            yield Path(shard.url.removeprefix("file://"))
            return
        with TemporaryDirectory(prefix="pairsift-") as folder:
            path = Path(folder) / PurePosixPath(shard.url).name
            filesystem, remote = fsspec.core.url_to_fs(shard.url)
            filesystem.get_file(remote, str(path))
            yield path

    def count(self) -> int | None:
        """Return the number of samples that the metadata lists; None for a pool of tars alone."""
        if not self._metadata:
            return None
        total = 0
        for shard in self._metadata:
            try:
                with fsspec.open(shard.url, "rb") as file:
                    total += pq.ParquetFile(file).metadata.num_rows
            except (OSError, ValueError):
                continue  # counted by its reason when it is read
        return total

    def metadata_captions(self, uids: UidArray) -> list[str | None]:
        """Return the caption that the metadata parquet has of each of n uids, None where it has none.

        Of a uid that occurs in several rows the first counts.
        """
        distinct = unite_uids([uids])
        index = UidIndex(distinct)
        captions: list[str | None] = [None] * len(distinct)
        for shard in self._metadata:
            for rows, texts in read_captions(shard.url, self.columns, index):
                for row, text in zip(rows.tolist(), texts, strict=True):
                    if captions[row] is None:
                        captions[row] = text
        return [captions[row] for row in index.find(uids)]

    def metadata_numbers(self, uids: UidArray, names: tuple[str, ...]) -> npt.NDArray[np.float64]:
        """Return the numbers that the metadata parquet has in m columns of each of n uids, shape (n, m), else NaN."""
        distinct = unite_uids([uids])
        index = UidIndex(distinct)
        numbers = np.full((len(distinct), len(names)), np.nan)
        for shard in self._metadata:
            for rows, values in read_numbers(shard.url, self.columns, names, index):
                numbers[rows] = values
        return np.asarray(numbers[index.find(uids)])

    def _find(self, patterns: Sequence[str]) -> list[Shard]:
        try:
            filesystem, root = fsspec.core.url_to_fs(self.url)
        except (ValueError, ImportError) as error:
            raise UserError(f"pool.url={self.url} cannot be opened: {error}") from None
        for pattern in patterns:
            paths = sorted(filesystem.glob(f"{root}/{pattern}"))
            if paths:
                return [_shard(filesystem, path) for path in paths]
        return []

    def _check_columns(self, extra_columns: frozenset[str]) -> None:
        """Raise `UserError` for a column that no file has; those before the first file that has all are opened."""
        present = set[str]()
        for shard in self._metadata:
            try:
                with fsspec.open(shard.url, "rb") as file:
                    present |= set(pq.ParquetFile(file).schema_arrow.names)
            except (OSError, ValueError):
                continue  # a broken file; the next one shows the columns
            missing = sorted(c for c in extra_columns if pick_column(c, self.columns, present) is None)
            if not missing:
                return
        if present:
            hint = did_you_mean(missing[0], present)
            if missing[0] == "nsfw":
                hint = "name it with pool.columns.nsfw, or set pool.nsfw=[] to keep all samples"
            raise UserError(f"pool {self.name} has no column {missing[0]!r} in its metadata; {hint}")


def _shard(filesystem: fsspec.AbstractFileSystem, path: str) -> Shard:
    """Describe a file by its name, its size and when it was written."""
    info = filesystem.info(path)
    written = info.get("ETag") or info.get("mtime") or info.get("LastModified") or info.get("updated")
    fingerprint = hashlib.sha256(f"{info.get('size')} {written}".encode()).hexdigest()[:12]
    return Shard(PurePosixPath(path).stem, filesystem.unstrip_protocol(path), fingerprint)
