"""One pass over a tar: every sample's uid and caption, and the offset of its image.

Scoring and training read images by these offsets, so samples with scattered members stay whole and
a broken header costs only its own member.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from benchmark.core import batch
from benchmark.core.arrow import (
    from_lists,
    from_mask,
    from_numpy,
    from_strings,
    map_arrow,
    to_mask,
    to_numpy,
    write_arrow,
)
from benchmark.core.uids import UidArray, encode_uids, read_uid_columns, uid_columns
from benchmark.pool.tar_samples import UNDECODABLE, Extents, SampleReader, TarSample

Integers = npt.NDArray[np.int64]
Members = list[tuple[str, int, int]]  # of a sample: extension, offset and size of each
VERSION = 3  # raised when an index holds something else
# Large: the captions of many tars together may take more than 2 GiB.
_SCHEMA = pa.schema(
    {
        "text": pa.large_string(),
        "offset": pa.int64(),
        "size": pa.int64(),
        "mismatched": pa.bool_(),
        "extents": pa.large_list(pa.int64()),
        "extensions": pa.large_binary(),
        "members": pa.large_list(pa.int64()),
    }
)


@dataclass(frozen=True)
class TarIndex:
    """The n usable samples of one tar in file order, and why others were dropped.

    Args:
        uids: shape (n,).
        rows: what else is known of each, in Arrow; may be mapped from a file. ``text``: the caption that counts
            (see `Pool`). ``offset`` and ``size`` of the image, bytes. ``mismatched``: whether the ``.txt``
            differs from the JSON's caption. ``extents`` of all members, headers and padding included: start
            and end in bytes, once or more often, as members need not be contiguous. ``extensions`` of all
            members but other images, joined by slashes. ``members``: offset and size of the data of each, bytes.
        columns: metadata columns by name, object arrays of shape (n,).
        drops: samples that cannot be used, by reason.
    """

    uids: UidArray
    rows: pa.Table
    columns: Mapping[str, npt.NDArray[Any]] = field(default_factory=dict)
    drops: Counter[str] = field(default_factory=Counter)

    def __len__(self) -> int:
        return len(self.uids)

    @property
    def texts(self) -> list[str]:
        """The captions, as new Python strings."""
        return list(self.rows["text"].to_pylist())

    @property
    def extents(self) -> list[Extents]:
        """The extents, as new Python lists."""
        return list(self.rows["extents"].to_pylist())

    @property
    def members(self) -> list[Members]:
        """The members of each sample, as new Python lists."""
        extensions, places = (self.rows[name].to_pylist() for name in ("extensions", "members"))
        return [
            list(zip(names.decode(errors=UNDECODABLE).split("/"), where[::2], where[1::2], strict=True))
            for names, where in zip(extensions, places, strict=True)
        ]

    @cached_property
    def offsets(self) -> Integers:
        """Where each image begins in the file, shape (n,), bytes."""
        return to_numpy(self.rows["offset"])

    @cached_property
    def sizes(self) -> Integers:
        """The sizes of the images, shape (n,), bytes."""
        return to_numpy(self.rows["size"])

    @property
    def mismatched(self) -> npt.NDArray[np.bool_]:
        """Where the captions of a sample's files differ, shape (n,)."""
        return to_mask(self.rows["mismatched"])

    def take(self, rows: Integers) -> "TarIndex":
        """Return the samples at `rows`, in that order, without the drop counts; copies what was mapped."""
        columns = {name: values[rows] for name, values in self.columns.items()}
        return TarIndex(self.uids[rows], self.rows.take(from_numpy(rows)), columns)

    def with_captions(self, texts: Sequence[str], mismatched: npt.NDArray[np.bool_]) -> "TarIndex":
        """Return the samples with other captions, shape (n,), and `mismatched` in place of whether theirs differ."""
        changed = self.rows
        for name, values in {"text": _strings(texts), "mismatched": from_mask(mismatched)}.items():
            changed = changed.set_column(_SCHEMA.get_field_index(name), _SCHEMA.field(name), values)
        return replace(self, rows=changed)


def index_tar(
    path: Path,
    columns: Mapping[str, str],
    keep: frozenset[str] = frozenset(),
    nsfw: Sequence[str] = (),
    *,
    keyed: bool = True,
) -> TarIndex:
    """Index a tar.

    Args:
        path: the tar.
        columns: our names to its JSON fields.
        keep: fields that become columns of the index.
        nsfw: the values of that field that are kept, () for all.
        keyed: whether the key of a sample without uid and url is part of its uid.
    """
    drops, samples = Counter[str](), list[TarSample]()
    if path.stat().st_size == 0:
        drops[batch.SHARD_EMPTY] += 1
    else:
        samples = list(SampleReader(columns, keep, nsfw, keyed).read(path, drops))
    rows = pa.table(
        [
            _strings([sample.text for sample in samples]),
            from_numpy(np.array([sample.offset for sample in samples], np.int64)),
            from_numpy(np.array([sample.size for sample in samples], np.int64)),
            from_mask(np.array([sample.mismatched for sample in samples], bool)),
            from_lists([sample.extents for sample in samples]),
            from_strings([sample.extensions for sample in samples], pa.large_binary()),
            from_lists([sample.members for sample in samples]),
        ],
        schema=_SCHEMA,
    )
    # As objects: assigned to an array, lists would be its rows.
    kept = {name: np.fromiter((sample.metadata[name] for sample in samples), object) for name in keep}
    return TarIndex(encode_uids([sample.uid for sample in samples]), rows, kept, drops)


def save_index(path: Path, index: TarIndex) -> None:
    """Write an index without metadata columns to an Arrow file."""
    columns = uid_columns(index.uids) | {name: index.rows[name] for name in _SCHEMA.names}
    write_arrow(path, columns, {"drops": index.drops})


def load_index(path: Path) -> TarIndex:
    """Map an index that `save_index` wrote: only the uids, and the rows that are taken, come into memory."""
    table, info = map_arrow(path)
    return TarIndex(read_uid_columns(table), table.select(_SCHEMA.names), drops=Counter(info["drops"]))


def _strings(texts: Sequence[str]) -> pa.LargeStringArray:
    return from_strings([text.encode() for text in texts], pa.large_string())
