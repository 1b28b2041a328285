"""A parquet with images inside, as data sets of the Hugging Face hub have them, written as a tar.

Everything that reads images seeks to their offsets in a tar, so a shard becomes a temporary tar in place of a remote
tar's download. One pass over the row groups writes it, with one row and one page of each column in memory. All checks
of samples are the tar's.
"""

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, BinaryIO

import pyarrow as pa
import pyarrow.parquet as pq

from benchmark.core.arrow import DAMAGE
from benchmark.core.sanitize import map_values
from benchmark.core.storage import open_file
from benchmark.core.tar_members import BLOCK, tar_blocks
from benchmark.core.uids import is_bytes_of_uids
from benchmark.pool.parquet_reader import IDENTITY, NSFW
from benchmark.pool.sample_fields import holds_bytes, image_columns, pick_column, row_keys, values_of
from benchmark.pool.tar_samples import UNDECODABLE

_READ_BYTES = 1 << 16  # of a column at a time: a row group may have gigabytes
_END, _DAMAGE = bytes(2 * BLOCK), b"damaged"  # ends of tars


def write_as_tar(source: str, name: str, columns: Mapping[str, str], path: Path) -> None:
    """Write each row of a parquet as a sample of a tar: the encoded image, and its other fields as JSON.

    Rows without a caption or an image are written too, and counted by the reader of the tar. A damaged parquet gives
    a tar without its end, which counts as damaged.

    Args:
        source: path or URL of the parquet.
        name: the shard's path or URL, for `row_keys`; `source` may be a copy.
        columns: our column names to the file's.
        path: the tar.
    """
    extension = columns.get("image", "jpg")
    with open_file(source) as file, path.open("wb") as output:
        if file.seek(0, 2) == 0:  # an empty tar is counted as such, too
            return
        for row, (fields, image) in enumerate(_samples(file, columns)):
            if fields is None:
                output.write(_DAMAGE)
                return
            (key,) = row_keys(name, row, [None])
            members = {} if image is None else {extension: image}
            members["json"] = json.dumps(fields, default=str).encode()
            output.writelines(tar_blocks(key, members))
        output.write(_END)


def _samples(
    file: BinaryIO, columns: Mapping[str, str]
) -> Iterator[tuple[dict[str, Any] | None, bytes | None]]:
    """Yield the fields and the image of each row; None in place of the fields ends a damaged file."""
    try:
        parquet = pq.ParquetFile(file, page_checksum_verification=True, buffer_size=_READ_BYTES)
        schema = parquet.schema_arrow
        images = image_columns(schema, columns)[:1]
        ours = {name: pick_column(name, columns, schema.names) for name in (*IDENTITY, NSFW)}
        kept = [field.name for field in schema if field.name in ours.values() or not holds_bytes(field.type)]
        if len({*kept, *images}) < len(kept) + len(images):
            raise pa.ArrowInvalid("two columns of one name")
        for row in parquet.iter_batches(1, columns=[*kept, *images]):  # more would save 0.1 ms per row
            fields = {name: _value(row[name], is_text=name == ours["text"]) for name in kept}
            image = row[images[0]][0].as_py() if images else None
            yield fields, image["bytes"] if isinstance(image, dict) else image
    except DAMAGE:
        yield None, None


def _value(column: pa.Array, *, is_text: bool) -> Any:
    """Return the only value of a column for JSON; a caption of bytes as text, with surrogates for invalid UTF-8."""
    if is_bytes_of_uids(column):
        return None if column.null_count else column.cast(pa.binary(16))[0].as_py().hex()
    try:
        (value,) = values_of(column)
    except (pa.ArrowException, ValueError, OverflowError):  # nested invalid UTF-8, times before the year 1
        return None
    return map_values(value, bytes, lambda text: text.decode(errors=UNDECODABLE)) if is_text else value
