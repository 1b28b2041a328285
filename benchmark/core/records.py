"""Typed records on disk: one JSON for each, in a folder of its kind."""

import json
from collections.abc import Iterator
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from benchmark.core.paths import write_text

if TYPE_CHECKING:
    from _typeshed import DataclassInstance

    class Record(DataclassInstance, Protocol):
        """A dataclass with a name of its own."""

        @property
        def run_id(self) -> str:
            """A readable name and a hash of what the record depends on."""


def write_record(folder: Path, record: "Record") -> Path:
    """Write ``folder/<run_id>.json``, whole or not at all, and return its path."""
    path = folder / f"{record.run_id}.json"
    write_text(path, json.dumps(asdict(record), indent=2, sort_keys=True, allow_nan=False) + "\n")
    return path


def read_records(folder: Path, schema_version: int, field: str) -> Iterator[dict[str, Any]]:
    """Yield the records of `folder` in the order of their names; files of another schema are left out.

    `field` is one that every record of this kind has.
    """
    for path in sorted(folder.glob("*.json")):
        data = json.loads(path.read_text(encoding="utf-8"))
        if data.get("schema_version") == schema_version and field in data:
            yield data
