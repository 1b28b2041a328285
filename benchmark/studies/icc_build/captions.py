"""The captions that ICC is built on: read from a file, split, and written as shards."""

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
PART_SIZE = 2000  # captions per shard; an interrupted reconstruction repeats at most one shard


def captions_from_file(path: str, column: str = "caption") -> list[str]:
    """Return the usable captions of a .csv, .tsv or .parquet file.

    Raises:
        UserError: if the file cannot be read or has no usable caption.
    """
    captions = []
    for value in _column(Path(path), column):
        try:
            captions.append(check_caption(value))
        except SampleError:
            continue
    if not captions:
        raise UserError(
            f"icc.captions.path={path} holds no caption in column {column!r}; choose another icc.captions.column"
        )
    return captions


def _column(path: Path, name: str) -> Iterator[object]:
    """Yield the values of one column."""
    try:
        if path.suffix == ".parquet":
            _check_column(path, name, pq.read_schema(path).names)
            yield from pq.read_table(path, columns=[name])[name].to_pylist()
        elif path.suffix in DELIMITERS:
            with path.open(newline="", encoding="utf-8", errors="replace") as file:
                rows = csv.DictReader(file, delimiter=DELIMITERS[path.suffix])
                _check_column(path, name, rows.fieldnames or ())
                yield from (row[name] for row in rows)
        else:
            raise UserError(f"icc.captions.path={path} must be a .csv, .tsv or .parquet file; convert it")
    except (OSError, csv.Error, pa.ArrowException) as error:
        raise UserError(f"icc.captions.path={path} cannot be read: {error}") from None


def _check_column(path: Path, name: str, present: Sequence[str]) -> None:
    if name not in present:
        raise UserError(
            f"icc.captions.column={name} is not a column of {path}; {did_you_mean(name, present)}"
        )


def write_split(captions: Sequence[str], training: int, scoring: int, folder: Path) -> dict[str, int]:
    """Write two disjoint sets of captions: one trains SBA's bridge, the other is reconstructed and distilled.

    Duplicates are removed. The set of a caption depends on its uid, not on the order of the captions. The sets are
    written to ``training/metadata/*.parquet`` and ``scoring/metadata/*.parquet`` in `folder`, as shards of a pool.

    Args:
        captions: all captions.
        training: number of captions in the first set.
        scoring: number of captions in the second set.
        folder: output folder.

    Returns:
        The numbers of distinct, training and scoring captions.

    Raises:
        UserError: if there are too few distinct captions.
    """
    texts = {make_uid("", caption): caption for caption in captions}
    if len(texts) < training + scoring:
        raise UserError(
            f"icc.training_captions + icc.scoring_captions = {training + scoring:,} must be at most the number of"
            f" distinct captions, {len(texts):,}; lower one of them"
        )
    uids = sorted(texts)
    for name, chosen in (("training", uids[:training]), ("scoring", uids[training : training + scoring])):
        for number, start in enumerate(range(0, len(chosen), PART_SIZE)):
            part = chosen[start : start + PART_SIZE]
            table = pa.table({"uid": part, "text": [texts[uid] for uid in part]})
            with atomic_write(folder / name / "metadata" / f"{number:05d}.parquet") as temporary:
                pq.write_table(table, temporary)
    return {"captions": len(texts), "training": training, "scoring": scoring}
