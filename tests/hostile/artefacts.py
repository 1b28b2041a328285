"""What a run leaves, file by file, without what may differ between two runs of one command."""

import hashlib
import json
import re
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.ipc as ipc
import pyarrow.parquet as pq

from benchmark.core.temporaries import is_temporary

ROOT = Path(__file__).resolve().parents[2]
# Names of files whose last part says from which tar, of which time, they are.
OF_A_TIME = re.compile(r"(?<=demo)-[0-9a-f]{12}|(?<=/\d{8})-[0-9a-f]{12}")
# Of the clock, the load, and of whether there was a break, or made of these; all else of a result is compared.
TIMES = re.compile(
    r"seconds$|_per_second$|peak_rss_bytes$|^finished$|^reused$|^resumed_from$|^checksum$|^crc32$"
)
# Hold nothing, or the times of files that were drawn anew.
UNCOMPARED = ("locks", "sweeps", "content", "readable", "evaluation_images", "same_bytes")


def artefacts(folder: Path) -> dict[str, str]:
    """Return a digest of each file that a run left in ``cache`` and ``results`` below `folder`, by its path.

    Half-written files of killed runs are left out; a file that was made twice, of tars drawn again, counts twice.
    """
    found: dict[str, str] = {}
    for path in sorted(folder.glob("*/**/*")):
        below = path.relative_to(folder)
        left_out = path.name.endswith(".seal") or any(map(is_temporary, below.parts))
        if path.is_file() and not left_out and not set(below.parts) & set(UNCOMPARED):
            name = OF_A_TIME.sub("", str(below))
            name += " again" * (name in found)
            found[name] = hashlib.sha256(_lasting(path, folder)).hexdigest()
    return found


def differences(one: dict[str, str], other: dict[str, str]) -> list[str]:
    """Return the paths that only one of two runs left, or that they left with other contents."""
    return sorted(path for path in one.keys() | other.keys() if one.get(path) != other.get(path))


def _lasting(path: Path, folder: Path) -> bytes:
    """Return what a file holds apart from times; of tables, the metadata has some."""
    if path.suffix == ".parquet":
        return _rows(pq.read_table(path))
    if path.suffix == ".arrow":
        with pa.OSFile(str(path)) as file:
            return _rows(ipc.open_file(file).read_all())
    if path.suffix == ".json":
        text = path.read_text().replace(str(folder), "")
        if folder.is_relative_to(ROOT):  # results name what lies in the checkout from there
            text = text.replace(str(folder.relative_to(ROOT)), "")
        text = OF_A_TIME.sub("", text)
        return json.dumps(_without_times(json.loads(text)), sort_keys=True).encode()
    return path.read_bytes()


def _rows(table: pa.Table) -> bytes:
    sink = pa.BufferOutputStream()
    with ipc.new_stream(sink, table.schema.remove_metadata()) as stream:
        stream.write_table(table.replace_schema_metadata(None).combine_chunks())
    return sink.getvalue().to_pybytes()


def _without_times(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _without_times(inner) for key, inner in value.items() if not TIMES.search(key)}
    return [_without_times(inner) for inner in value] if isinstance(value, list) else value
