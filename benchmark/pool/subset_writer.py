"""Writes the files of a resharded subset: new tars, and the metadata of their samples."""

import json
import re
import tarfile
import zlib
from collections import deque
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Any, BinaryIO

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.parquet as pq

from benchmark.core.arrow import from_numpy
from benchmark.core.images import IMAGE_EXTENSIONS
from benchmark.core.output_folder import OutputFolder
from benchmark.core.tar_members import BLOCK, tar_blocks
from benchmark.core.uids import UidArray, UidIndex, decode_uids, take_first, unite_uids
from benchmark.engine.base import Work
from benchmark.pool.parquet_reader import read_rows
from benchmark.pool.pool import Pool
from benchmark.pool.subset import ShardSamples
from benchmark.pool.tar_index import Members
from benchmark.pool.tar_samples import parse_json

METADATA = "metadata"  # the folder
NAME = "{:08d}"  # of a tar, by its number
STAMP = "pairsift_stamp"  # a field of each JSON: a stream recognises the sample by it
# Bytes per tar that is open: a megabyte leaves the processor's cache, which takes twice the time.
_BUFFER = 2**17
_LIGHT = 100_000  # samples, which take twenty seconds
_RENAMED = dict.fromkeys(IMAGE_EXTENSIONS, "jpg") | {"json": "json", "txt": "txt"}  # trainers look for jpg
# Of members that are copied: others, such as .pickle, would be run by some readers of webdatasets.
KNOWN_EXTENSIONS = {*IMAGE_EXTENSIONS, "json", "txt", "cls", "npy"}
_SURROGATE = re.compile("[\ud800-\udfff]")  # JSON can name them, and UTF-8 cannot hold them
Fields = dict[str, Any]


@dataclass(frozen=True)
class OutputTar:
    """One tar to write, to ``shards`` of a folder.

    Args:
        folder: the folder.
        number: what the tar is named by.
        first: number of its first sample among all of the subset.
        parts: its n samples.
        unlisted: which of them no metadata lists, shape (n,).
    """

    folder: OutputFolder
    number: int
    first: int
    parts: Sequence[ShardSamples]
    unlisted: npt.NDArray[np.bool_]


class WriteTar(Work[OutputTar, None]):
    """Writes one tar, with one sample in memory at a time.

    Args:
        pool: holds the samples.
        samples: how many all tars have.
        every_member: whether members of any kind are copied, not only of `KNOWN_EXTENSIONS`.
        identity: of the subset, for the stamps.
    """

    def __init__(self, pool: Pool, samples: int, every_member: bool, identity: str) -> None:
        self.pool = pool
        self.light = samples < _LIGHT
        self.every_member = every_member
        self.identity = identity

    def __call__(self, tar: OutputTar) -> None:
        """Write the tar, and the fields of the samples that no metadata lists."""
        name = NAME.format(tar.number)
        with tar.folder.write(f"shards/{name}.tar") as path:
            with path.open("wb", buffering=_BUFFER) as output:
                copies = zip(self._copies(tar, output), tar.unlisted.tolist(), strict=True)
                rows = [fields for fields, unlisted in copies if unlisted]
                size = output.tell() + 2 * BLOCK  # `tarfile` ends a tar in the same way
                output.write(bytes(-size % tarfile.RECORDSIZE + 2 * BLOCK))
            if rows:  # the fields of samples that no metadata parquet lists
                columns = dict.fromkeys(field for row in rows for field in row if field != "caption")
                table = {field: _column([row.get(field) for row in rows]) for field in columns}
                table["text"] = _column([row["caption"] for row in rows])
                _write_tables(tar.folder, f"{METADATA}/tar-{name}.parquet", iter([pa.table(table)]))

    def _copies(self, tar: OutputTar, output: BinaryIO) -> Iterator[Fields]:
        """Write each sample to `output`; yield the fields of its JSON."""
        number = tar.first
        for part in tar.parts:
            uids, texts, members_of = decode_uids(part.samples.uids), part.samples.texts, part.samples.members
            with self.pool.local(part.shard) as path, path.open("rb") as file:
                for uid, text, places in zip(uids, texts, members_of, strict=True):
                    members = self._read_members(file, places)
                    fields, key = self._fields(parse_json(members.get("json")), uid, text), f"{number:09d}"
                    place = f"{self.identity}/{NAME.format(tar.number)}.tar/{key}"
                    fields[STAMP] = stamp(place, text, members["jpg"])
                    members |= {"json": json.dumps(fields).encode(), "txt": text.encode()}
                    output.writelines(tar_blocks(key, members))
                    yield fields
                    number += 1

    def _read_members(self, file: BinaryIO, places: Members) -> dict[str, bytes]:
        """Return the members of a sample by extension; that of the image is always jpg."""
        renamed = {self.pool.columns.get("image", "jpg").lower(): "jpg"} | _RENAMED
        read = {}
        for extension, offset, size in places:
            name = renamed.get(extension.lower(), extension)
            if self.every_member or name.lower().rpartition(".")[2] in KNOWN_EXTENSIONS:
                file.seek(offset)
                read[name] = file.read(size)
        return read

    def _fields(self, fields: Fields, uid: str, text: str) -> Fields:
        """Return all fields of a sample's JSON, with ours under our names: its reader needs no map of columns."""
        ours = {name: fields[theirs] for name, theirs in self.pool.columns.items() if theirs in fields}
        fields = fields | ours | {"uid": uid, "caption": text}
        return fields | {"text": text} if "text" in fields else fields


def stamp(place: str, caption: str, image: bytes) -> str:
    """Return what the JSON of a sample holds: its subset, tar and key, and a checksum of its caption and image."""
    return f"{place} {zlib.crc32(image, zlib.crc32(caption.encode())):08x}"


def copy_metadata(pool: Pool, uids: UidArray, folder: OutputFolder) -> npt.NDArray[np.bool_]:
    """Copy the rows of n uids from each metadata parquet of a pool; return which uids have a row, shape (n,).

    All columns are copied except the pool's hidden columns. If a uid has several rows, the first is copied.
    """
    distinct = unite_uids([uids])
    index, listed = UidIndex(distinct), np.zeros(len(distinct), bool)
    written = folder.names(METADATA)
    for number, shard in enumerate(pool.metadata):
        name = f"{NAME.format(number)}.parquet"
        by_row = pool.fields.image_column is not None
        found = read_rows(shard.url, pool.columns, index, pool.hidden, pool.nsfw, by_row)
        first = (table.take(from_numpy(take_first(rows, listed))) for rows, table in found)
        tables = (table for table in first if len(table))
        if name in written:
            deque(tables, maxlen=0)  # a killed call has written them; they are read to know the uids
        else:
            _write_tables(folder, f"{METADATA}/{name}", tables)
    return np.asarray(listed[index.find(uids)])


def _write_tables(folder: OutputFolder, name: str, tables: Iterator[pa.Table]) -> None:
    """Write a parquet file; none for no table."""
    if (first := next(tables, None)) is None:
        return
    with folder.write(name) as path, pq.ParquetWriter(path, first.schema, compression="zstd") as writer:
        for table in chain([first], tables):
            writer.write_table(table)


def _column(values: list[Any]) -> pa.Array:
    """Return values of JSON as a column; as strings if they are of several types, as fields of the web may be."""
    try:
        return pa.array(values)
    except (pa.ArrowException, OverflowError, UnicodeEncodeError):
        kept = (v is None or (isinstance(v, str) and not _SURROGATE.search(v)) for v in values)
        return pa.array([v if keep else json.dumps(v) for v, keep in zip(values, kept, strict=True)])
