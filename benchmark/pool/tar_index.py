"""One pass over a tar: every sample's uid and caption, and the offset of its image.

Scoring and training read images by these offsets, so samples whose members are not contiguous stay whole and
a broken header costs only its own member.
"""

import json
import tarfile
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from benchmark.core import batch
from benchmark.core.batch import SampleError
from benchmark.core.uids import UidArray, encode_uids
from benchmark.pool.sample_fields import check_caption, check_uid, pick_column

IMAGE_EXTENSIONS = frozenset({"jpg", "jpeg", "png", "webp", "gif", "bmp", "tif", "tiff"})
MAX_CAPTION_BYTES = 1_000_000
MAX_JSON_BYTES = 10_000_000
BLOCK = 512
Integers = npt.NDArray[np.int64]
Extents = list[int]


@dataclass(frozen=True)
class TarIndex:
    """The n usable samples of one tar in file order, and why others were dropped.

    Args:
        uids: shape (n,).
        texts: the captions that count (see `Pool`).
        offsets: where each image begins in the file, shape (n,), bytes.
        sizes: of the images, shape (n,), bytes.
        mismatched: where the ``.txt`` differs from the JSON's caption, shape (n,).
        extents: where all members of each sample lie, headers and padding included: start and end in bytes, once or
            more often, as members need not be contiguous.
        columns: metadata columns by name, object arrays of shape (n,).
        drops: samples that cannot be used, by reason.
    """

    uids: UidArray
    texts: list[str]
    offsets: Integers
    sizes: Integers
    mismatched: npt.NDArray[np.bool_]
    extents: list[Extents]
    columns: Mapping[str, npt.NDArray[Any]] = field(default_factory=dict)
    drops: Counter[str] = field(default_factory=Counter)

    def __len__(self) -> int:
        return len(self.uids)

    def take(self, rows: Integers) -> "TarIndex":
        """Return the samples at `rows`, in that order, without the drop counts."""
        return TarIndex(
            self.uids[rows],
            [self.texts[row] for row in rows],
            self.offsets[rows],
            self.sizes[rows],
            self.mismatched[rows],
            [self.extents[row] for row in rows],
            {name: values[rows] for name, values in self.columns.items()},
        )


class _Sample(NamedTuple):
    """One usable sample of a tar."""

    uid: str
    text: str
    offset: int
    size: int
    mismatched: bool
    extents: Extents
    metadata: dict[str, object]


@dataclass
class _Members:
    """The members of one key so far: where all lie, where the image does (offset, size), the raw caption and JSON."""

    key: str
    extents: Extents = field(default_factory=list)
    image: tuple[int, int] | None = None
    caption: bytes | None = None
    metadata: bytes | None = None

    def extend(self, start: int, end: int) -> None:
        """Add a member from `start` to before `end`."""
        if self.extents and self.extents[-1] == start:
            self.extents[-1] = end
        else:
            self.extents += [start, end]

    def slot(self, extension: str) -> str | None:
        if extension in IMAGE_EXTENSIONS:
            return "image"
        return {"txt": "caption", "json": "metadata"}.get(extension)


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
    drops = Counter[str]()
    samples: list[_Sample] = []
    if path.stat().st_size == 0:
        drops[batch.SHARD_EMPTY] += 1
    else:
        for members in _group(path, drops):
            try:
                samples.append(_sample(members, columns, keep, nsfw, keyed))
            except SampleError as error:
                drops[error.reason] += 1
    return TarIndex(
        encode_uids([sample.uid for sample in samples]),
        [sample.text for sample in samples],
        np.array([sample.offset for sample in samples], np.int64),
        np.array([sample.size for sample in samples], np.int64),
        np.array([sample.mismatched for sample in samples], bool),
        [sample.extents for sample in samples],
        {name: _objects([sample.metadata[name] for sample in samples]) for name in keep},
        drops,
    )


def field_names(path: Path) -> list[str]:
    """Return the JSON fields of the first sample of a tar that has any."""
    for members in _group(path, Counter()):
        try:
            if fields := parse_json(members.metadata):
                return list(fields)
        except SampleError:
            continue
    return []


def _sample(
    members: _Members, columns: Mapping[str, str], keep: frozenset[str], nsfw: Sequence[str], keyed: bool
) -> _Sample:
    fields = parse_json(members.metadata)
    if nsfw and _field(fields, "nsfw", columns) not in nsfw:
        raise SampleError(batch.NSFW)
    text, mismatched = _caption(members.caption, _field(fields, "text", columns))
    key = (_field(fields, "key", columns) or members.key) if keyed else None
    uid = check_uid(_field(fields, "uid", columns), _field(fields, "url", columns), key, text)
    if members.image is None:
        raise SampleError(batch.IMAGE_MISSING)
    kept = {name: _field(fields, name, columns) for name in keep}
    return _Sample(uid, text, *members.image, mismatched, members.extents, kept)


def _objects(values: list[object]) -> npt.NDArray[Any]:
    return np.fromiter(values, object, len(values))  # assigned to an array, lists would be its rows


def _group(path: Path, drops: Counter[str]) -> Iterator[_Members]:
    """Yield samples once all members are known: the members of a key need not be contiguous."""
    open_samples: dict[str, _Members] = {}
    with path.open("rb") as file:
        for name, start, offset, size in _headers(path, drops):
            folder, _, base = name.rpartition("/")
            stem, _, extension = base.partition(".")
            key = f"{folder}/{stem}"
            sample = open_samples.setdefault(key, _Members(stem))
            slot = sample.slot(extension.lower())
            if slot and getattr(sample, slot) is not None:  # the key is used again: another sample begins
                yield sample
                sample = open_samples[key] = _Members(stem)
            sample.extend(start, offset + padded(size))
            if slot is None:
                continue
            if slot == "image":
                sample.image = (offset, size)
            else:
                limit = MAX_CAPTION_BYTES if slot == "caption" else MAX_JSON_BYTES
                file.seek(offset)
                setattr(sample, slot, file.read(min(size, limit + 1)))
    yield from open_samples.values()


def padded(size: int) -> int:
    """Return the bytes that `size` bytes of data take in a tar."""
    return -(-size // BLOCK) * BLOCK


def _headers(path: Path, drops: Counter[str]) -> Iterator[tuple[str, int, int, int]]:
    """Yield (name, header offset, data offset, size) of regular members; a broken stretch is counted and skipped."""
    expected = 0
    corrupt = False
    try:
        # With ignore_zeros tarfile skips a broken header block by block until the next valid one.
        with tarfile.open(path, "r:", ignore_zeros=True) as tar:
            for member in tar:
                corrupt |= member.offset != expected
                expected = member.offset_data + padded(member.size)
                if member.isreg():
                    yield member.name, member.offset, member.offset_data, member.size
                # tarfile keeps every header otherwise: memory would grow with the shard.
                tar.members = []  # type: ignore[attr-defined]
            corrupt |= not _only_zeros(path, expected)
    except (tarfile.TarError, OSError, ValueError, EOFError):
        corrupt = True
    if corrupt:
        drops[batch.SHARD_CORRUPT] += 1


def _only_zeros(path: Path, offset: int) -> bool:
    """Tell whether a block of zeros, which ends an archive, is at `offset`."""
    with path.open("rb") as file:
        file.seek(offset)
        return file.read(BLOCK) == bytes(BLOCK)


def parse_json(raw: bytes | None) -> dict[str, Any]:
    """Return the fields of a sample's JSON, {} without one. Raises `SampleError` if they cannot be read."""
    if raw is None:
        return {}
    if len(raw) > MAX_JSON_BYTES:
        raise SampleError(batch.METADATA_INVALID)
    try:
        fields = json.loads(raw)
    except (ValueError, RecursionError):
        raise SampleError(batch.METADATA_INVALID) from None
    if not isinstance(fields, dict):
        raise SampleError(batch.METADATA_INVALID)
    return fields


def _caption(raw: bytes | None, metadata: object) -> tuple[str, bool]:
    """Return the caption that counts, and whether the ``.txt`` (`raw`) differs from that of the `metadata`."""
    if raw is None:
        return check_caption(metadata), False
    if len(raw) > MAX_CAPTION_BYTES:
        raise SampleError(batch.CAPTION_TOO_LONG)
    if not isinstance(metadata, str) or not metadata.strip():
        return check_caption(raw), False
    text = check_caption(metadata)
    return text, raw != text.encode()


def _field(fields: Mapping[str, Any], ours: str, columns: Mapping[str, str]) -> object:
    name = pick_column(ours, columns, fields)
    return None if name is None else fields[name]
