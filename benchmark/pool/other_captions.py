"""Captions that samples have besides their own: from columns of the pool, or from files that task=augment wrote."""

from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import repeat
from pathlib import Path
from typing import Literal

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from benchmark.core.arrow import DAMAGE
from benchmark.core.batch import CAPTION_TOO_LONG, UID_INVALID, SampleError
from benchmark.core.errors import UserError
from benchmark.core.hashes import hash_json
from benchmark.core.paths import refuse_pointers
from benchmark.core.storage import local_path
from benchmark.core.temporaries import whole_files
from benchmark.core.uids import UidArray, UidIndex, decode_uids, unite_uids
from benchmark.pool.parquet_reader import listed_uids
from benchmark.pool.pool import Pool
from benchmark.pool.sample_fields import ALL_CAPTIONS, check_caption
from benchmark.pool.tar_samples import MAX_CAPTION_BYTES

UID, CAPTION = "uid", "caption"  # the columns of a file of captions
_BATCH = 65536


@dataclass(frozen=True)
class OtherCaptions:
    """Additional captions by uid in hex; `drops` counts unusable captions by reason.

    With `weights`, the losses of a pair's captions are summed with them: each source has its position, None in place
    of a caption that it lacks. Without, training draws one caption.
    """

    by_uid: Mapping[str, tuple[str | None, ...]] = field(default_factory=dict)
    drops: Mapping[str, int] = field(default_factory=dict)
    weights: tuple[float, ...] = ()

    @cached_property
    def sha256(self) -> str | None:
        """A hash of the captions and weights, independent of their source; None without any."""
        if not self.by_uid:
            return None
        captions = sorted(self.by_uid.items())
        return hash_json([captions, self.weights] if self.weights else captions)

    def counts(self) -> dict[str, int]:
        """Return the numbers of samples with other captions, of these captions, and of each drop reason."""
        captions = sum(caption is not None for of_pair in self.by_uid.values() for caption in of_pair)
        return {"samples": len(self.by_uid), "captions": captions, **self.drops}


class CaptionSources:
    """Where other captions are read from. Raises `UserError` for a missing source, before anything is scored.

    Args:
        pool: the pool of the samples.
        columns: metadata columns of `pool`, of captions or lists of captions.
        files: parquet files, or folders of them, with columns ``uid`` and ``caption``; one caption per row.
        use: whether training sums the losses of a pair's captions, or draws one caption each time it sees the pair;
            drawn captions include the further captions of a pool that lists several per pair.
        weights: in the sum, of each of the columns and `files`; all 1 by default.
    """

    def __init__(
        self,
        pool: Pool,
        columns: Sequence[str] = (),
        files: Sequence[str] = (),
        use: Literal["sum", "draw"] = "sum",
        weights: Sequence[float] | None = None,
    ) -> None:
        secret = sorted(pool.hidden.intersection(columns))
        if secret:
            raise UserError(f"captions.columns names {secret[0]!r}, which pool {pool.name} hides")
        lists = (ALL_CAPTIONS,) if use == "draw" and pool.fields.lists_captions else ()
        self._pool, self._columns = pool, (*lists, *columns)
        self._shards = pool.shards(frozenset(self._columns)) if self._columns else []
        self._files = [_parquet_files(local_path("captions.files", path)) for path in files]
        self._sources = (*self._columns, *files)
        if weights is not None and (use == "draw" or len(weights) != len(self._sources)):
            raise UserError(
                f"captions.weights must be null, or with captions.use=sum one number for each of the"
                f" {len(self._sources)} sources in captions.columns and captions.files; it has {len(weights)}"
            )
        self._weights = tuple(weights or [1.0] * len(self._sources)) if use == "sum" else ()

    def __bool__(self) -> bool:
        """Tell whether any source was given."""
        return bool(self._columns or self._files)

    def of(self, uids: UidArray) -> OtherCaptions:
        """Return the usable captions of `uids`: from the columns first, then from the files, in their order.

        Missing, empty and too long captions are left out and counted. Raises `UserError` for a damaged file, when
        sources were given and hold no caption of any of the `uids`, and, if captions are summed, when a source
        holds several for a pair.
        """
        if not self:
            return OtherCaptions()
        distinct = unite_uids([uids])
        names = decode_uids(distinct)
        by_row: defaultdict[int, list[tuple[int, str]]] = defaultdict(list)
        drops = Counter[str]()
        for row, source, value in (*self._of_columns(distinct), *self._of_files(UidIndex(distinct), drops)):
            try:
                caption = check_caption(value)
                if len(caption.encode()) > MAX_CAPTION_BYTES:
                    raise SampleError(CAPTION_TOO_LONG)
            except SampleError as error:
                drops[error.reason] += 1
            else:
                by_row[row].append((source, caption))
        if not by_row:
            raise UserError(
                f"captions: none of the {len(uids):,} selected pairs has one there;"
                " make them by task=augment with the same pool, filter, size and seed"
            )
        by_uid = {names[row]: self._arranged(names[row], captions) for row, captions in by_row.items()}
        return OtherCaptions(by_uid, dict(sorted(drops.items())), self._weights)

    def _arranged(self, uid: str, captions: Sequence[tuple[int, str]]) -> tuple[str | None, ...]:
        """Return the captions of a pair; if they are summed, at the positions of their sources."""
        if not self._weights:
            return tuple(caption for _, caption in captions)
        counts = Counter(source for source, _ in captions)
        source, most = counts.most_common(1)[0]
        if most > 1:
            raise UserError(
                f"captions.use=sum takes one caption of a pair from each source, but {self._sources[source]} has"
                f" {most} of {uid}; give them in several files, or set captions.use=draw"
            )
        by_source = dict(captions)
        return tuple(by_source.get(source) for source in range(len(self._sources)))

    def _of_columns(self, uids: UidArray) -> Iterator[tuple[int, int, object]]:
        """Yield row in `uids`, source and value of the columns, for every one of the uids there."""
        for rows, batch in self._pool.find(uids, self._shards, frozenset(self._columns)):
            columns = [(source, name, batch.columns[name]) for source, name in enumerate(self._columns)]
            for position, row in enumerate(rows.tolist()):
                for source, name, values in columns:
                    value = values[position]
                    captions = [*value] if isinstance(value, list | np.ndarray) else [value]
                    for caption in captions[1:] if name == ALL_CAPTIONS else captions:
                        yield row, source, caption

    def _of_files(self, uids: UidIndex, drops: Counter[str]) -> Iterator[tuple[int, int, object]]:
        """Yield row in `uids`, source and caption of the files; count malformed uids."""
        sources = [(s, file) for s, files in enumerate(self._files, len(self._columns)) for file in files]
        for source, record in ((s, record) for s, file in sources for record in _records(file)):
            listed, given = listed_uids(record[UID])
            if len(listed) < len(record):
                drops[UID_INVALID] += len(record) - len(listed)
            rows = uids.find(given)
            hits = rows >= 0
            # As bytes: a string that is not valid UTF-8 is one caption lost, not an error.
            captions = record[CAPTION].take(pa.array(listed[hits])).cast(pa.large_binary())
            yield from zip(rows[hits].tolist(), repeat(source), captions.to_pylist(), strict=False)


def _records(file: Path) -> Iterator[pa.RecordBatch]:
    try:
        yield from pq.ParquetFile(file).iter_batches(_BATCH, columns=[UID, CAPTION])
    except DAMAGE:
        raise UserError(f"captions.files: {file} is damaged; make it again, or leave it out") from None


def _parquet_files(path: Path) -> list[Path]:
    """Return the parquet files at `path`. Raises `UserError` without any, or for a file without captions."""
    files = whole_files(path, "*.parquet") if path.is_dir() else [path]
    if not files or not files[0].is_file():
        raise UserError(f"captions.files: no parquet file at {path}; give what task=augment printed")
    refuse_pointers(files)
    for file in files:
        try:
            schema = pq.read_schema(file)
        except DAMAGE:
            raise UserError(f"captions.files: {file} is not a parquet file; give another") from None
        for name in (UID, CAPTION):
            kinds = [field.type for field in schema if field.name == name]
            if len(kinds) != 1 or kinds[0] not in (pa.string(), pa.large_string()):
                columns = ", ".join(schema.names)
                raise UserError(
                    f"captions.files: {file} must have one column {name!r} of strings; it has {columns}"
                )
    return files
