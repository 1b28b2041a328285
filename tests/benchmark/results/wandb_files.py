"""The records of an offline W&B run by their kind."""

import json
import struct
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import wandb
from wandb.proto import wandb_internal_pb2

BLOCK, HEADER = 32768, 7  # bytes of LevelDB's log format, in which W&B writes the file of a run
WHOLE, LAST = 1, 4  # kinds of a part of a record


class OfflineRun:
    """What an offline run in a folder holds, by kind of record; `name` is a pattern that one run's id matches."""

    def __init__(self, folder: Path, name: str = "*") -> None:
        wandb.teardown()  # its service may still be writing; at the end of a process W&B waits for it itself
        (self.path,) = folder.glob(f"wandb/offline-run-*/run-{name}.wandb")
        self.records = [*read_records(self.path)]
        self.run = self._of("run")[0]
        self.config = {item.key: json.loads(item.value_json) for item in self.run.config.update}
        self.history = [_items(record.item) for record in self._of("history")]
        self.summary: dict[str, Any] = {}
        for record in self._of("summary"):
            self.summary |= _items(record.update)
        self.axes = {
            metric.glob_name: metric.step_metric for metric in self._of("metric") if metric.glob_name
        }
        self.artifacts = {artifact.type: artifact for artifact in self._of("artifact")}

    def _of(self, kind: str) -> list[Any]:
        return [getattr(r, kind) for r in self.records if r.WhichOneof("record_type") == kind]

    def table(self, name: str) -> tuple[list[list[Any]], list[Path]]:
        """The rows of a logged table, and the files of its images."""
        for artifact in self._of("artifact"):
            files = {content.path: Path(content.local_path) for content in artifact.manifest.contents}
            if f"{name}.table.json" in files:
                rows = json.loads(files[f"{name}.table.json"].read_text())["data"]
                return rows, [file for path, file in files.items() if path.startswith("media/images/")]
        raise KeyError(name)


def read_records(path: Path) -> Iterator[Any]:
    """The records of a file that W&B wrote."""
    data, message, position = path.read_bytes(), b"", HEADER
    while position + HEADER <= len(data):
        _, length, kind = struct.unpack_from("<IHB", data, position)
        if (left := BLOCK - position % BLOCK) < HEADER or kind == 0:  # padding at the end of a block
            position += left
            continue
        message += data[position + HEADER : position + HEADER + length]
        position += HEADER + length
        if kind in (WHOLE, LAST):
            yield wandb_internal_pb2.Record.FromString(message)  # type: ignore[attr-defined]
            message = b""


def _items(items: Any) -> dict[str, Any]:
    """Values by their keys, nested ones joined by dots."""
    return {item.key or ".".join(item.nested_key): json.loads(item.value_json) for item in items}
