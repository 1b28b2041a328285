"""One pass over a tar: every sample's uid and caption, and where its image lies.

Scoring and training read images by these offsets, so samples whose members are not contiguous stay whole and
one bad header costs only the member it stands before.
"""

import json
import tarfile
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from benchmark.core import batch
from benchmark.core.batch import SampleError
from benchmark.pool.sample_fields import check_caption, check_uid, pick_column

IMAGE_EXTENSIONS = frozenset({"jpg", "jpeg", "png", "webp", "gif", "bmp", "tif", "tiff"})
MAX_CAPTION_BYTES = 1_000_000
MAX_JSON_BYTES = 10_000_000
_BLOCK = 512


@dataclass
class TarIndex:
    """The usable samples of one tar, in file order, and the counted rest."""

    uids: list[str] = field(default_factory=list)
    texts: list[str] = field(default_factory=list)
    offsets: list[int] = field(default_factory=list)
    sizes: list[int] = field(default_factory=list)
    metadata: list[dict[str, Any]] = field(default_factory=list)
    drops: Counter[str] = field(default_factory=Counter)


@dataclass
class _Members:
    """The members of one key so far: the image's place, the raw caption and JSON."""

    image: tuple[int, int] | None = None
    caption: bytes | None = None
    metadata: bytes | None = None

    def slot(self, extension: str) -> str | None:
        if extension in IMAGE_EXTENSIONS:
            return "image"
        return {"txt": "caption", "json": "metadata"}.get(extension)


def index_tar(path: Path, columns: Mapping[str, str], keep: frozenset[str] = frozenset()) -> TarIndex:
    """Index a tar. `columns` maps our names to its JSON fields; fields in `keep` are returned as metadata."""
    index = TarIndex()
    if path.stat().st_size == 0:
        index.drops[batch.SHARD_EMPTY] += 1
        return index
    for members in _group(path, index.drops):
        try:
            fields = _parse_json(members.metadata)
            text = _caption(members, fields, columns)
            uid = check_uid(_field(fields, "uid", columns), _field(fields, "url", columns), text)
            if members.image is None:
                raise SampleError(batch.IMAGE_MISSING)
        except SampleError as error:
            index.drops[error.reason] += 1
            continue
        index.uids.append(uid)
        index.texts.append(text)
        index.offsets.append(members.image[0])
        index.sizes.append(members.image[1])
        if keep:
            index.metadata.append({name: _field(fields, name, columns) for name in keep})
    return index


def _group(path: Path, drops: Counter[str]) -> Iterator[_Members]:
    """Yield samples once all members are known: the members of a key need not be contiguous."""
    open_samples: dict[str, _Members] = {}
    with path.open("rb") as file:
        for name, offset, size in _headers(path, drops):
            folder, _, base = name.rpartition("/")
            stem, _, extension = base.partition(".")
            key = f"{folder}/{stem}"
            sample = open_samples.setdefault(key, _Members())
            slot = sample.slot(extension.lower())
            if slot is None:
                continue
            if getattr(sample, slot) is not None:  # the key is used again: another sample begins
                yield sample
                sample = open_samples[key] = _Members()
            if slot == "image":
                sample.image = (offset, size)
            else:
                limit = MAX_CAPTION_BYTES if slot == "caption" else MAX_JSON_BYTES
                file.seek(offset)
                setattr(sample, slot, file.read(min(size, limit + 1)))
    yield from open_samples.values()


def _headers(path: Path, drops: Counter[str]) -> Iterator[tuple[str, int, int]]:
    """Yield (name, data offset, size) of regular members; a broken stretch is counted and stepped over."""
    expected = 0
    corrupt = False
    try:
        # ignore_zeros makes tarfile search on, block by block, behind a header that does not check out.
        with tarfile.open(path, "r:", ignore_zeros=True) as tar:
            for member in tar:
                corrupt |= member.offset != expected
                expected = member.offset_data + -(-member.size // _BLOCK) * _BLOCK
                if member.isreg():
                    yield member.name, member.offset_data, member.size
                tar.members = []  # type: ignore[attr-defined]  # tarfile keeps every header otherwise: memory would grow with the shard
            corrupt |= not _only_zeros(path, expected)
    except (tarfile.TarError, OSError, ValueError, EOFError):
        corrupt = True
    if corrupt:
        drops[batch.SHARD_CORRUPT] += 1


def _only_zeros(path: Path, offset: int) -> bool:
    """Tell whether the archive ends, as it should, in zero blocks."""
    with path.open("rb") as file:
        file.seek(offset)
        return file.read(_BLOCK) == bytes(_BLOCK)


def _parse_json(raw: bytes | None) -> dict[str, Any]:
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


def _caption(members: _Members, fields: Mapping[str, Any], columns: Mapping[str, str]) -> str:
    if members.caption is None:
        return check_caption(_field(fields, "text", columns))
    if len(members.caption) > MAX_CAPTION_BYTES:
        raise SampleError(batch.CAPTION_TOO_LONG)
    return check_caption(members.caption)


def _field(fields: Mapping[str, Any], ours: str, columns: Mapping[str, str]) -> object:
    name = pick_column(ours, columns, fields)
    return None if name is None else fields[name]
