"""Captions that samples have besides their own: from columns of the pool, or from what task=augment wrote."""

import hashlib
import json
from collections import Counter, defaultdict
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from benchmark.core.batch import CAPTION_TOO_LONG, METADATA_INVALID, SampleError
from benchmark.core.errors import UserError, did_you_mean
from benchmark.core.uids import UidArray, decode_uids, is_uid
from benchmark.pool.pool import Pool
from benchmark.pool.sample_fields import check_caption
from benchmark.pool.tar_index import MAX_CAPTION_BYTES

UID, CAPTION = "uid", "caption"  # the columns of a file of captions
_BATCH = 65536


@dataclass(frozen=True)
class OtherCaptions:
    """Captions by uid, besides the samples' own; `drops` counts by reason those that could not be used."""

    by_uid: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    drops: Mapping[str, int] = field(default_factory=dict)

    @cached_property
    def sha256(self) -> str | None:
        """A hash of what they say, wherever it was read from; None when there are none."""
        if not self.by_uid:
            return None
        text = json.dumps(sorted(self.by_uid.items()))
        return hashlib.sha256(text.encode()).hexdigest()

    def counts(self) -> dict[str, int]:
        """Return how many samples have other captions, how many those are, and how many were left out, by reason."""
        captions = sum(map(len, self.by_uid.values()))
        return {"samples": len(self.by_uid), "captions": captions, **self.drops}


class CaptionSources:
    """Where other captions are read from. Raises `UserError` for what is not there, before anything is scored.

    Args:
        pool: of the samples.
        columns: metadata columns of `pool`, one caption each.
        files: parquet files, or folders of them, with ``uid`` and ``caption``; a row is a caption.
    """

    def __init__(self, pool: Pool, columns: Sequence[str] = (), files: Sequence[str] = ()) -> None:
        for name, value in {"columns": columns, "files": files}.items():
            if isinstance(value, str) or value is None:
                raise UserError(f"captions.{name}={value} is no list; write captions.{name}=[{value or ''}]")
        secret = sorted(pool.hidden.intersection(columns))
        if secret:
            raise UserError(f"captions.columns names {secret[0]!r}, which pool {pool.name} hides")
        self._pool, self._columns = pool, tuple(columns)
        self._shards = pool.shards(frozenset(columns)) if columns else []
        self._files = [file for path in files for file in _parquet_files(Path(path).expanduser())]

    def __bool__(self) -> bool:
        """Tell whether there is anything to read."""
        return bool(self._columns or self._files)

    def of(self, uids: UidArray) -> OtherCaptions:
        """Return the usable captions of `uids`: those of the columns first, then those of the files, in their order.

        Missing, empty and too long ones are left out and counted. Raises `UserError` for a damaged file, and when
        there is something to read and no sample finds a caption in it.
        """
        chosen = frozenset(decode_uids(uids)) if self else frozenset[str]()
        found: defaultdict[str, list[str]] = defaultdict(list)
        drops = Counter[str]()
        for uid, value in (*self._of_columns(chosen), *self._of_files(chosen, drops)):
            try:
                caption = _checked(value)
            except SampleError as error:
                drops[error.reason] += 1
            else:
                found[uid].append(caption)
        if self and not found:
            raise UserError(
                f"captions: none of the {len(uids):,} selected pairs has one there;"
                " make them by task=augment with the same pool, filter, size and seed"
            )
        by_uid = {uid: tuple(captions) for uid, captions in found.items()}
        return OtherCaptions(by_uid, dict(sorted(drops.items())))

    def _of_columns(self, chosen: Collection[str]) -> Iterator[tuple[str, object]]:
        needs = frozenset(self._columns)
        seen: set[str] = set()  # a uid found in several shards is taken from the first, as its image is
        for shard in self._shards:
            for batch in self._pool.batches(shard, needs, _BATCH, Counter()):
                for row, uid in enumerate(batch.uids):
                    if uid in chosen and uid not in seen:
                        seen.add(uid)
                        yield from ((uid, batch.columns[name][row]) for name in self._columns)

    def _of_files(self, chosen: Collection[str], drops: Counter[str]) -> Iterator[tuple[str, object]]:
        for file in self._files:
            for raw, caption in _rows(file):
                uid = (raw or b"").decode(errors="replace").lower()
                if not is_uid(uid):
                    drops[METADATA_INVALID] += 1
                elif uid in chosen:
                    yield uid, caption


def _rows(file: Path) -> Iterator[tuple[bytes | None, bytes | None]]:
    try:
        for batch in pq.ParquetFile(file).iter_batches(_BATCH, columns=[UID, CAPTION]):
            # As bytes: a string that is no UTF-8 is one caption lost, not an error.
            yield from zip(
                *(batch[name].cast(pa.binary()).to_pylist() for name in (UID, CAPTION)), strict=True
            )
    except (pa.ArrowException, OSError):
        raise UserError(f"captions.files: {file} is damaged; make it again, or leave it out") from None


def _checked(value: object) -> str:
    caption = check_caption(value)
    if len(caption.encode()) > MAX_CAPTION_BYTES:
        raise SampleError(CAPTION_TOO_LONG)
    return caption


def _parquet_files(path: Path) -> list[Path]:
    """Return the files under `path`. Raises `UserError` for a path without any, or one that holds no captions."""
    files = sorted(path.glob("*.parquet")) if path.is_dir() else [path]
    if not files or not files[0].is_file():
        raise UserError(f"captions.files: no parquet file at {path}; give what task=augment printed")
    for file in files:
        try:
            schema = pq.read_schema(file)
        except (pa.ArrowException, OSError):
            raise UserError(f"captions.files: {file} is no parquet file; remove it or give another") from None
        for name in (UID, CAPTION):
            if name not in schema.names:
                hint = did_you_mean(name, schema.names)
                raise UserError(f"captions.files: {file} has no column {name!r}; {hint}")
            if schema.field(name).type not in (pa.string(), pa.large_string()):
                raise UserError(f"captions.files: column {name!r} of {file} holds no strings")
    return files
