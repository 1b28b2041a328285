"""The captions that ICC is built on: from a file, split, and laid out as shards for an engine."""

import csv
from collections.abc import Iterator, Sequence
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from benchmark.core.batch import SampleError
from benchmark.core.errors import UserError, did_you_mean
from benchmark.core.paths import atomic_write
from benchmark.core.uids import make_uid
from benchmark.pool.sample_fields import check_caption

DELIMITERS = {".csv": ",", ".tsv": "\t"}
PART = 2000  # captions of one part: what a killed reconstruction repeats at most


def captions_from_file(path: str, column: str = "caption") -> list[str]:
    """Return the usable captions of a .csv, .tsv or .parquet file. Raises `UserError` when there are none."""
    captions = []
    for value in _column(Path(path), column):
        try:
            captions.append(check_caption(value))
        except SampleError:
            continue
    if not captions:
        raise UserError(f"{path} holds no caption in its column {column!r}")
    return captions


def _column(path: Path, name: str) -> Iterator[object]:
    """Yield the values of one column."""
    try:
        if path.suffix == ".parquet":
            _check(path, name, pq.read_schema(path).names)
            yield from pq.read_table(path, columns=[name])[name].to_pylist()
        elif path.suffix in DELIMITERS:
            with path.open(newline="", encoding="utf-8", errors="replace") as file:
                rows = csv.DictReader(file, delimiter=DELIMITERS[path.suffix])
                _check(path, name, rows.fieldnames or ())
                yield from (row[name] for row in rows)
        else:
            raise UserError(f"{path} is no .csv, .tsv or .parquet file; convert it")
    except (OSError, csv.Error, pa.ArrowException) as error:
        raise UserError(f"{path} cannot be read: {error}") from None


def _check(path: Path, name: str, present: Sequence[str]) -> None:
    if name not in present:
        raise UserError(f"{path} has no column {name!r}; {did_you_mean(name, present)}")


def write_split(captions: Sequence[str], training: int, scoring: int, folder: Path) -> dict[str, int]:
    """Write two disjoint sets of captions: one trains SBA's bridge, the other is reconstructed and distilled.

    Equal captions count once. Which set a caption falls into depends on its uid, not on the order of the file.
    Both become ``SET/metadata/*.parquet`` of `folder`, in parts that an engine takes as shards.
    """
    texts = {make_uid("", caption): caption for caption in captions}
    if len(texts) < training + scoring:
        raise UserError(
            f"icc.training_captions + icc.scoring_captions ask for {training + scoring:,} captions, but there are"
            f" {len(texts):,} different ones; ask for fewer"
        )
    uids = sorted(texts)
    for name, chosen in (("training", uids[:training]), ("scoring", uids[training : training + scoring])):
        for number, start in enumerate(range(0, len(chosen), PART)):
            part = chosen[start : start + PART]
            table = pa.table({"uid": part, "text": [texts[uid] for uid in part]})
            with atomic_write(folder / name / "metadata" / f"{number:05d}.parquet") as temporary:
                pq.write_table(table, temporary)
    return {"captions": len(texts), "training": training, "scoring": scoring}
