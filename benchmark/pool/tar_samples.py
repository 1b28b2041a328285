"""The members of a tar as samples: members of one key, with their caption and the fields of their JSON."""

import json
from codecs import BOM_UTF8
from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from itertools import chain
from pathlib import Path
from typing import Any, NamedTuple

from benchmark.core import batch
from benchmark.core.batch import SampleError
from benchmark.core.images import IMAGE_EXTENSIONS
from benchmark.core.tar_members import split_name, tar_members
from benchmark.pool.sample_fields import check_caption, check_uid, pick_column

MAX_CAPTION_BYTES = 1_000_000
MAX_JSON_BYTES = 10_000_000
_IMAGE, _CAPTION, _METADATA = "image", "caption", "metadata"
_SLOTS = dict.fromkeys(IMAGE_EXTENSIONS, _IMAGE) | {"txt": _CAPTION, "json": _METADATA}
_LIMITS = {_CAPTION: MAX_CAPTION_BYTES, _METADATA: MAX_JSON_BYTES}
Extents = list[int]
UNDECODABLE = "surrogateescape"  # as `tarfile` has bytes in names that are not UTF-8


class TarSample(NamedTuple):
    """One usable sample of a tar; `TarIndex` says what its fields are."""

    uid: str
    text: str
    offset: int
    size: int
    mismatched: bool
    extents: Extents
    extensions: bytes
    members: list[int]
    metadata: dict[str, object]


@dataclass(frozen=True)
class SampleReader:
    """Reads the samples of a tar.

    Args:
        columns: our names to the JSON's fields; the values of `image` and `text` may also be extensions of files.
        keep: fields that a sample's `metadata` holds.
        nsfw: the values of that field that are kept, () for all.
        keyed: whether the key of a sample without uid and url is part of its uid.
    """

    columns: Mapping[str, str]
    keep: frozenset[str]
    nsfw: Sequence[str]
    keyed: bool

    def read(self, path: Path, drops: Counter[str]) -> Iterator[TarSample]:
        """Yield the usable samples in file order; count the others by reason in `drops`."""
        for members in _group(path, self.columns, drops):
            # Images with dots in their names that are separate samples, not a second image of this one.
            lone = _IMAGE not in members.kinds
            if dotted := sum(_IMAGE in them and (lone or len(them) > 1) for them in members.dotted.values()):
                drops[batch.KEY_WITH_DOT] += dotted
                if lone:
                    continue
            try:
                yield self._sample(members)
            except SampleError as error:
                drops[error.reason] += 1

    def _sample(self, members: "_Members") -> TarSample:
        if members.reason is not None:
            raise SampleError(members.reason)
        fields = parse_json(members.metadata)
        if self.nsfw and self._field(fields, "nsfw") not in self.nsfw:
            raise SampleError(batch.NSFW)
        text, mismatched = pick_caption(members.caption, self._field(fields, "text"))
        key = (self._field(fields, "key") or members.key) if self.keyed else None
        uid = check_uid(self._field(fields, "uid"), self._field(fields, "url"), key, text)
        if _IMAGE not in members.kinds:
            raise SampleError(batch.IMAGE_MISSING)
        image = members.places[members.kinds[_IMAGE]]
        kept = {name: self._field(fields, name) for name in self.keep}
        if "key" in kept and kept["key"] is None:
            kept["key"] = members.key
        extensions = "/".join(members.places).encode(errors=UNDECODABLE)
        places = list(chain.from_iterable(members.places.values()))
        return TarSample(uid, text, *image, mismatched, members.extents, extensions, places, kept)

    def _field(self, fields: Mapping[str, Any], ours: str) -> object:
        name = pick_column(ours, self.columns, fields)
        return None if name is None else fields[name]


def field_names(path: Path) -> tuple[dict[str, Any], list[str]]:
    """Return the JSON of the first sample of a tar that has any, and the extensions of its members so far."""
    extensions: dict[str, None] = {}
    for members in _group(path, {}, Counter()):
        extensions |= dict.fromkeys(members.places)
        with suppress(SampleError):
            if fields := parse_json(members.metadata):
                return fields, list(extensions)
    return {}, list(extensions)


def parse_json(raw: bytes | None) -> dict[str, Any]:
    """Return the fields of a sample's JSON, {} without one. Raises `SampleError` if they cannot be read."""
    if raw is None:
        return {}
    if len(raw) > MAX_JSON_BYTES:
        raise SampleError(batch.METADATA_INVALID)
    try:
        # As UTF-8, which that must be, it is read in less time than by `json` finding out.
        fields = json.loads(raw.decode(errors="surrogatepass") if raw.startswith(b'{"') else raw)
    except (ValueError, RecursionError):
        fields = None
    if not isinstance(fields, dict):
        raise SampleError(batch.METADATA_INVALID)
    return fields


@dataclass(slots=True)
class _Members:
    """The members of one key so far.

    Args:
        key: their name without folder and extension.
        extents: their start and end in the file, headers and padding included.
        places: offset and size of the data of each by extension, without images that do not count.
        kinds: the extensions of its image, caption and JSON.
        caption: the bytes of the ``.txt``.
        metadata: the bytes of the JSON.
        dotted: kinds of the members whose extensions have a dot, by the part before it: ``00021.jpg`` of
            ``photo.00021.jpg``, whose key is ``photo``.
        reason: why they cannot be used, whatever they hold.
    """

    key: str
    extents: Extents = field(default_factory=list)
    places: dict[str, tuple[int, int]] = field(default_factory=dict)
    kinds: dict[str, str] = field(default_factory=dict)
    caption: bytes | None = None
    metadata: bytes | None = None
    dotted: dict[str, set[str]] = field(default_factory=dict)
    reason: str | None = None


def _group(path: Path, columns: Mapping[str, str], drops: Counter[str]) -> Iterator[_Members]:
    """Yield samples once all members are known: the members of a key need not be contiguous."""
    image, text = columns.get("image", "jpg"), columns.get("text", "txt")
    slots = {image.lower(): _IMAGE, text.lower(): _CAPTION} | _SLOTS
    preferred, previous = list(slots), ""
    samples: dict[str, list[_Members]] = {}
    with path.open("rb") as file:
        for member in tar_members(file, drops):
            key, extension = split_name(member.name)
            stem = key.rpartition("/")[2]
            if not stem:
                continue
            kind = extension.lower()
            slot = slots.get(kind, "")
            of_key = samples.setdefault(key, [])
            other = of_key[-1].kinds.get(slot) if of_key else None
            # A new key, or one used again; a .png next to a .jpg is of the same sample.
            if not of_key or (other and (other.lower() == kind or key != previous)):
                of_key.append(_Members(stem))
                other = None
            sample, previous = of_key[-1], key
            if sample.extents[-1:] == [member.start]:
                sample.extents[-1] = member.end
            else:
                sample.extents += [member.start, member.end]
            if other:
                if preferred.index(other.lower()) < preferred.index(kind):
                    continue
                del sample.places[other]
            sample.places[extension] = (member.offset, member.size)
            if slot:
                sample.kinds[slot] = extension
            before, _, last = extension.rpartition(".")
            if before and last.lower() in slots:
                sample.dotted.setdefault(before, set()).add(slots[last.lower()])
            if slot in _LIMITS:
                file.seek(member.offset)
                setattr(sample, slot, file.read(min(member.size, _LIMITS[slot] + 1)))
    yield from _checked(samples.values(), damaged=drops[batch.SHARD_CORRUPT] > 0)


def _checked(samples: Collection[Sequence[_Members]], *, damaged: bool) -> Iterator[_Members]:
    """Yield the samples of each key; with a reason if members may belong to another sample, or are lost.

    If a key is used again, members that are not adjacent may be the image of one sample and the caption of
    another. In a damaged tar a sample without JSON, where others have it, has lost it and would get another uid.
    """
    lost = damaged and any(sample.metadata is not None for of_key in samples for sample in of_key)
    for of_key in samples:
        for sample in of_key:
            if len(of_key) > 1 and len(sample.extents) > 2:
                sample.reason = batch.KEY_REPEATED
            elif lost and sample.metadata is None:
                sample.reason = batch.METADATA_MISSING
            yield sample


def pick_caption(raw: bytes | None, metadata: object) -> tuple[str, bool]:
    """Return the caption that counts, and whether the ``.txt`` (`raw`) differs from that of the `metadata`."""
    if raw is None:
        return check_caption(metadata), False
    if len(raw) > MAX_CAPTION_BYTES:
        raise SampleError(batch.CAPTION_TOO_LONG)
    raw = raw.removeprefix(BOM_UTF8)
    if not isinstance(metadata, str) or not metadata.strip():
        return check_caption(raw), False
    text = check_caption(metadata)
    return text, raw != text.encode()
