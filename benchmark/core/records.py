"""Typed records on disk: one JSON file per record, validated when it is read."""

import json
import logging
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, ClassVar, Protocol, TypeVar

from pydantic import TypeAdapter, ValidationError

from benchmark.core.errors import UserError
from benchmark.core.paths import write_text

log = logging.getLogger(__name__)


@dataclass(frozen=True)
class Schema:
    """How records of one type are kept.

    Args:
        kind: stands in every file, so that records of other types are told apart.
        version: raised whenever the fields change.
        folder: below ``results_dir``; empty for the folder itself.
        command: makes such records.
    """

    kind: str
    version: int
    folder: str
    command: str


class Record(Protocol):
    """A dataclass, of plain values and other dataclasses, that is kept on disk."""

    SCHEMA: ClassVar[Schema]
    __dataclass_fields__: ClassVar[dict[str, Any]]

    @property
    def run_id(self) -> str:
        """A readable name and a hash of what the record depends on."""


R = TypeVar("R", bound=Record)


def write_record(results: Path, record: Record) -> Path:
    """Write the record to its folder below `results` as ``<run_id>.json``, whole or not at all; return the path."""
    schema = record.SCHEMA
    path = results / schema.folder / f"{record.run_id}.json"
    data = {"kind": schema.kind, "schema_version": schema.version} | asdict(record)
    write_text(path, json.dumps(data, indent=2, sort_keys=True, allow_nan=False) + "\n")
    return path


def read_records(results: Path, record_type: type[R]) -> list[R]:
    """Read all records of one type below `results`, in the order of their file names.

    Records of an older schema are left out with a warning; JSON files that are not such records are ignored.

    Raises:
        UserError: when a file is damaged, or its schema is newer than this version or unknown.
    """
    schema, adapter = record_type.SCHEMA, TypeAdapter(record_type)
    folder = results / schema.folder
    records, older = [], 0
    for path in sorted(folder.glob("*.json")):
        text, version = _read(path, schema)
        if version is None:
            continue
        if version < schema.version:
            older += 1
            continue
        try:
            records.append(adapter.validate_json(text, strict=True))
        except ValidationError as error:
            first = error.errors()[0]
            field = ".".join(map(str, first["loc"]))
            raise _damaged(path, schema, f"{field}: {first['msg']}") from None
    if older:
        log.warning(
            "%s: left out %s records of an older schema (%d); run `%s` again to have them in the report",
            folder,
            schema.kind,
            older,
            schema.command,
        )
    return records


def _read(path: Path, schema: Schema) -> tuple[str, int | None]:
    """Return a file's text and its schema version; None for a file that is not a record of this kind."""
    try:
        text = path.read_text(encoding="utf-8")
        data = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise _damaged(path, schema, str(error)) from None
    # Records of schema version 1 had no kind.
    if (
        not isinstance(data, dict)
        or "schema_version" not in data
        or data.get("kind", schema.kind) != schema.kind
    ):
        return text, None
    version = data["schema_version"]
    if type(version) is int and version > schema.version:
        raise UserError(
            f"{path} has schema version {version}, and this version of pairsift reads {schema.kind} records up to"
            f" version {schema.version}; upgrade pairsift, or move the file away"
        )
    if type(version) is not int or version < 0:
        raise UserError(
            f"{path} has the unknown schema version {version!r}, and this version of pairsift reads {schema.kind}"
            f" records of version {schema.version}; move the file away"
        )
    return text, version


def _damaged(path: Path, schema: Schema, reason: str) -> UserError:
    return UserError(
        f"{path} is not a readable {schema.kind} record of schema version {schema.version} ({reason}); move the file"
        f" away, or run `{schema.command}` again"
    )
