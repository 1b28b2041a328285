"""Typed records on disk: one JSON file per record, validated when it is read."""

import json
import logging
import math
import reprlib
from collections import defaultdict
from collections.abc import Iterable
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, ClassVar, Protocol, TypeVar

from pydantic import TypeAdapter, ValidationError

from benchmark.core.hashes import hash_text
from benchmark.core.paths import portable_paths, write_text
from benchmark.core.sanitize import map_values, redact

log = logging.getLogger(__name__)
_CHECKSUM = "checksum"


@dataclass(frozen=True)
class Schema:
    """How records of one type are kept."""

    kind: str  # written into every file, to recognise records of other types
    version: int  # raised whenever the fields change
    folder: str  # below ``results_dir``; empty for the folder itself
    command: str  # makes such records


@dataclass(frozen=True)
class LeftOut:
    """A file in a folder of records that is not read as one, and why; equal causes have equal reasons."""

    path: Path
    reason: str


class UnreadableError(Exception):
    """A file that is not a readable record; the message is its reason, in one line."""


class Record(Protocol):
    """A dataclass, of plain values and other dataclasses, that is kept on disk."""

    SCHEMA: ClassVar[Schema]
    __dataclass_fields__: ClassVar[dict[str, Any]]

    @property
    def run_id(self) -> str:
        """A readable name and a hash of the inputs of the record."""


R = TypeVar("R", bound=Record)


def write_record(results: Path, record: Record) -> Path:
    """Write the record to its folder below `results` as ``<run_id>.json``, whole or not at all; return the path.

    Its paths are portable, its URLs are without credentials, and its checksum shows whether the file was changed.
    """
    schema = record.SCHEMA
    path = results / schema.folder / f"{record.run_id}.json"
    fields = map_values(asdict(record), str, lambda text: redact(portable_paths(text)))
    data = {"kind": schema.kind, "schema_version": schema.version} | fields
    data[_CHECKSUM] = _checksum(data)
    write_text(path, json_text(data, indent=2, sort_keys=True) + "\n")
    return path


def scan_records(results: Path, record_type: type[R]) -> tuple[dict[Path, R], list[LeftOut]]:
    """Return all records of one type below `results` by their paths, in this order, and the files left out.

    Records of other types are neither: they say in the file what they are.
    """
    schema, adapter = record_type.SCHEMA, TypeAdapter(record_type)
    records, left_out = {}, []
    for path in sorted((results / schema.folder).glob("*.json")):
        try:
            if path.name.startswith("."):  # as `write_text` names a file until it is whole
                raise UnreadableError(
                    "half-written by a run that is about to end, or was killed: then run it again"
                )
            if (record := _read(path, schema, adapter)) is not None:
                records[path] = record
        except UnreadableError as error:
            left_out.append(LeftOut(path, str(error)))
    return records, left_out


def read_records(results: Path, record_type: type[R]) -> list[R]:
    """Return all records of one type below `results`, in the order of their file names; warn of those left out."""
    records, left_out = scan_records(results, record_type)
    warn_of(left_out)
    return list(records.values())


def warn_of(left_out: Iterable[LeftOut]) -> None:
    """Log a warning per reason for leaving files out; it names the first file."""
    by_reason: dict[str, list[Path]] = defaultdict(list)
    for file in left_out:
        by_reason[file.reason].append(file.path)
    for reason, paths in by_reason.items():
        more = f" and {len(paths) - 1} more" if len(paths) > 1 else ""
        log.warning("left out %s%s: %s", paths[0], more, reason)


def _read(path: Path, schema: Schema, adapter: TypeAdapter[R]) -> R | None:
    """Return the record in a file, None for one of another kind. Raises `UnreadableError` unless it is intact."""
    try:
        text = path.read_text(encoding="utf-8")
        data = json.loads(text)
    except (OSError, ValueError, RecursionError) as error:
        raise UnreadableError(f"not readable as JSON: {error}") from None
    kind = data.get("kind") if isinstance(data, dict) else None
    if isinstance(kind, str) and kind != schema.kind:
        return None
    if not isinstance(kind, str) or "schema_version" not in data:
        raise UnreadableError(f"JSON, but no {schema.kind} record")
    version = data["schema_version"]
    if type(version) is not int or version < 0:
        raise UnreadableError(f"unknown schema version {reprlib.repr(version)}")
    if version > schema.version:
        raise UnreadableError(
            f"schema version {version}, and this version of pairsift reads {kind} records up to version"
            f" {schema.version}; upgrade pairsift"
        )
    if version < schema.version:
        raise UnreadableError(
            f"{kind} record of the older schema version {version}; run `{schema.command}` again"
        )
    try:
        record = adapter.validate_json(text, strict=True)
    except ValidationError as error:
        first = error.errors()[0]
        field = ".".join(map(str, first["loc"]))
        raise UnreadableError(f"not a readable {schema.kind} record: {field}: {first['msg']}") from None
    if data.get(_CHECKSUM) != _checksum(data):
        raise UnreadableError("changed since it was written, as its checksum says; make it again")
    return record


def _checksum(data: dict[str, Any]) -> str:
    """Return the hash of a record's fields, in whatever order and spacing they are written."""
    fields = {name: value for name, value in data.items() if name != _CHECKSUM}
    return hash_text(json_text(fields, sort_keys=True))


def json_text(value: Any, indent: int | None = None, *, sort_keys: bool = False) -> str:
    """Return a value as JSON, with null for infinities and NaN."""
    try:
        return json.dumps(value, indent=indent, sort_keys=sort_keys, allow_nan=False)
    except ValueError:  # values that are not finite
        finite = map_values(value, float, finite_or_none)
        return json.dumps(finite, indent=indent, sort_keys=sort_keys, allow_nan=False)


def finite_or_none(number: float) -> float | None:
    """Return a number as JSON can hold it, None for infinities and NaN."""
    return number if math.isfinite(number) else None
