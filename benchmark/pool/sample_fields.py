"""The fields of a sample as its files name them, and whether their values can be used: one by one or as columns."""

from collections import Counter
from collections.abc import Callable, Container, Iterable, Iterator, Mapping
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from benchmark.core import batch
from benchmark.core.arrow import from_numpy, to_mask
from benchmark.core.batch import SampleError
from benchmark.core.images import IMAGE_EXTENSIONS
from benchmark.core.storage import file_name
from benchmark.core.uids import make_uid, read_uid

_Rows = npt.NDArray[np.int64]
IMAGE_COLUMNS = ("image", "img", *IMAGE_EXTENSIONS)  # names of columns that may hold encoded images
# The column of captions as it is: a list in it has all captions of a pair, its own caption first.
ALL_CAPTIONS = "all_captions"
# Other names of our columns: in img2dataset, in LAION's parquet files, in data sets of the hub.
ALIASES = {
    "text": ("caption", "TEXT", "captions", "sentences"),
    "url": ("URL", "image_url"),
    "nsfw": ("NSFW",),
    "clip_b32_similarity_score": ("similarity",),
    "original_width": ("WIDTH",),
    "original_height": ("HEIGHT",),
}


def known_names(ours: str) -> tuple[str, ...]:
    """Return the names under which our column is found without a setting."""
    return (ours, *ALIASES.get(ours, ()))


def pick_column(ours: str, columns: Mapping[str, str], present: Container[str]) -> str | None:
    """Return the file's name of our column: by the pool's map, our own, or one of `ALIASES`; None if absent."""
    if (mapped := columns.get(ours, ours)) in present:
        return mapped
    for name in known_names(ours):  # not a generator: this is done for each field of each sample
        if name in present:
            return name
    return pick_column("text", columns, present) if ours == ALL_CAPTIONS else None


def check_caption(value: object) -> str:
    """Return a caption as text, the first of a list. Raises `SampleError` if it is missing, empty or not UTF-8."""
    if isinstance(value, list):
        value = value[0] if value else None
    if isinstance(value, bytes):
        try:
            value = value.decode()
        except UnicodeDecodeError:
            raise SampleError(batch.CAPTION_INVALID_UTF8) from None
    if not isinstance(value, str):
        raise SampleError(batch.CAPTION_MISSING)
    # JSON can carry lone surrogates.
    if not value.isascii() and any("\ud800" <= character <= "\udfff" for character in value):
        raise SampleError(batch.CAPTION_INVALID_UTF8)
    if not value.strip():
        raise SampleError(batch.CAPTION_EMPTY)
    return value


def check_uid(uid: object, url: object, key: object, caption: str) -> str:
    """Return the sample's uid in hex; without one, the hash of its url and caption, or of its key and caption.

    Raises `SampleError` if the uid is malformed.
    """
    if uid is None:
        return make_uid(str(url or ("" if key is None else key)), caption)
    read = read_uid(uid)
    if read is None:
        raise SampleError(batch.UID_INVALID)
    return read


def usable_captions(column: pa.Array, drops: Counter[str]) -> tuple[_Rows, pa.LargeStringArray]:
    """Return the rows of `column` with a usable caption, and the captions; count the others by reason in `drops`.

    A caption that begins with a visible character is usable, if all are valid UTF-8; only the others are looked at
    one by one, see `check_caption`.
    """
    texts = as_text(column)
    if texts is None:
        values = values_of(column)
        rows, captions = checked(len(values), lambda row: check_caption(values[row]), drops)
        return rows, pa.array(captions, pa.large_string())
    visible = pc.fill_null(pc.match_substring_regex(texts, r"^[^\pZ\pC]"), False)
    usable = to_mask(visible).copy()
    others = np.flatnonzero(~usable)
    if not len(others):
        return np.arange(len(texts)), texts
    values = texts.take(from_numpy(others)).to_pylist()
    passed, _ = checked(len(values), lambda row: check_caption(values[row]), drops)
    usable[others[passed]] = True
    rows = np.flatnonzero(usable)
    return rows, texts.take(from_numpy(rows))


def checked(count: int, check: Callable[[int], str], drops: Counter[str]) -> tuple[_Rows, list[str]]:
    """Return the rows of `count` that pass the check, and their checked values; count the others by reason."""
    rows, values = [], []
    for row in range(count):
        try:
            values.append(check(row))
        except SampleError as error:
            drops[error.reason] += 1
        else:
            rows.append(row)
    return np.array(rows, np.int64), values


def values_of(array: pa.Array) -> list[Any]:
    """Return the values; strings with invalid UTF-8 come back as bytes, for the caption check to find."""
    try:
        return list(array.to_pylist())
    except UnicodeDecodeError:
        kind = pa.large_list(pa.binary()) if is_list(array.type) else pa.binary()
        return list(array.cast(kind).to_pylist())


def is_text(kind: pa.DataType) -> bool:
    """Tell whether a column of this type holds strings."""
    return bool(pa.types.is_string(kind) or pa.types.is_large_string(kind))


def is_list(kind: pa.DataType) -> bool:
    """Tell whether a column of this type holds lists."""
    return bool(pa.types.is_list(kind) or pa.types.is_large_list(kind) or pa.types.is_fixed_size_list(kind))


def without_views(column: pa.Array) -> pa.Array:
    """Return a column of views of strings or bytes, or of lists of strings, without views: few kernels take them."""
    if is_list(column.type) and pa.types.is_string_view(column.type.value_type):
        return column.cast(pa.large_list(pa.large_string()))
    if pa.types.is_string_view(column.type):
        return column.cast(pa.large_string())
    return column.cast(pa.large_binary()) if pa.types.is_binary_view(column.type) else column


def holds_bytes(kind: pa.DataType) -> bool:
    """Tell whether a column of this type may hold files: bytes, or the hub's structs with a field of bytes."""
    if pa.types.is_struct(kind) and (position := kind.get_field_index("bytes")) >= 0:
        kind = kind.field(position).type
    return bool(pa.types.is_binary(kind) or pa.types.is_large_binary(kind) or pa.types.is_binary_view(kind))


def image_columns(schema: pa.Schema, columns: Mapping[str, str]) -> list[str]:
    """Return the column with the encoded images; several columns if none of them has a usual name.

    ``pool.columns.image`` names the column. Without it, the column holds bytes and has one of the names
    `IMAGE_COLUMNS`, or it has the hub's type for images.
    """
    kinds = {field.name: field.type for field in schema if holds_bytes(field.type)}
    if (named := columns.get("image", "")) in schema.names:
        return [named] if named in kinds else []
    usual = [name for name in kinds if name.lower() in IMAGE_COLUMNS]
    structs = [name for name, kind in kinds.items() if pa.types.is_struct(kind)]
    return sorted(usual, key=lambda name: IMAGE_COLUMNS.index(name.lower()))[:1] or structs


def row_keys(url: str, start: int, keys: Iterable[object]) -> Iterator[str]:
    """Yield the key of each row of a parquet with images, from row `start` on: the name of the file and the row.

    A key among the `keys` that the file has counts in its place.
    """
    name = file_name(url).rpartition("%2F")[2]  # a copy by task=fetch has the folder's name, too
    stem = name.removesuffix(".parquet").replace(".", "_")  # a dot would end the key of a file in a tar
    for row, key in enumerate(keys, start):
        yield str(key) if key else f"{stem}-{row:09d}"


def as_text(column: pa.Array) -> pa.LargeStringArray | None:
    """Return the column as valid UTF-8; None if a value is not, or if the column is not text or bytes."""
    if column.type not in (pa.string(), pa.large_string(), pa.binary(), pa.large_binary(), pa.null()):
        return None
    try:
        texts = column.cast(pa.large_string())
        texts.validate(full=True)
    except pa.ArrowInvalid:
        return None
    return texts
