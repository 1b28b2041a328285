"""Corpora of a vocabulary: the captions of a pool, the text in its images, or a file of texts."""

import csv
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from benchmark.core.errors import UserError
from benchmark.engine.base import Engine
from benchmark.pool.pool import Pool
from benchmark.scoring.score_pool import score_pool
from benchmark.scoring.shard_reader import PoolBatches
from filters.no_text import NoText
from filters.ocr.features import TextSpotter, legible_lines

COLUMNS = ("text", "caption")  # in this order of preference; the only column of a file may have any name
BATCH = 10_000  # captions or rows
LONGEST_LINE = 1_000_000  # characters; a longer line of plain text is read in pieces
_CAPTIONS = frozenset({"text"})


def captions(pool: Pool, drops: Counter[str]) -> Iterator[str]:
    """Yield the captions of `pool`; unusable samples are counted by reason in `drops`."""
    for shard in pool.shards(_CAPTIONS):
        for batch in pool.batches(shard, _CAPTIONS, BATCH, drops):
            yield from batch.texts


def image_texts(pool: Pool, ocr: TextSpotter, engine: Engine) -> Iterator[str]:
    """Yield the legible text in each image of `pool`, its lines joined by spaces; OCR is cached."""
    scorer = NoText(ocr)
    score_pool(pool, scorer, engine)
    for batch in PoolBatches(pool, scorer, "cpu"):
        for words, numbers in zip(batch.features["words"], legible_lines(batch, ocr), strict=True):
            yield " ".join(words[number] for number in numbers)


def read_texts(path: Path) -> Iterator[str]:
    """Yield the texts of a ``.csv`` or ``.parquet``, or the lines of any other file.

    Bytes that are not UTF-8 become U+FFFD, which cannot be rendered. Raises `UserError` when the file is missing,
    cannot be read, or has several columns but none called ``text`` or ``caption``.
    """
    if not path.is_file():
        raise UserError(
            f"task.vocabulary={path} does not exist; give a file with one text per row, captions, or ocr"
        )
    readers = {".csv": _csv, ".parquet": _parquet}
    try:
        yield from readers.get(path.suffix.lower(), _lines)(path)
    except (OSError, csv.Error, pa.ArrowException) as error:
        reason = str(error).split("\n")[0][:200]
        raise UserError(f"task.vocabulary={path} cannot be read: {reason}") from None


def _lines(path: Path) -> Iterator[str]:
    with path.open(encoding="utf-8-sig", errors="replace") as file:
        while line := file.readline(LONGEST_LINE):
            yield line


def _csv(path: Path) -> Iterator[str]:
    with path.open(encoding="utf-8-sig", errors="replace", newline="") as file:
        reader = csv.DictReader(file, restval="")
        column = _column(path, reader.fieldnames or ())
        for row in reader:
            yield row[column]


def _parquet(path: Path) -> Iterator[str]:
    with pq.ParquetFile(path) as file:
        schema = file.schema_arrow
        column = _column(path, schema.names)
        kind = schema.field(column).type
        if not (pa.types.is_string(kind) or pa.types.is_large_string(kind)):
            raise UserError(f"task.vocabulary={path}: column {column!r} must hold texts; it holds {kind}")
        for batch in file.iter_batches(BATCH, columns=[column]):
            # As bytes: pyarrow does not check UTF-8 when it reads, and fails when it decodes invalid text.
            for value in batch.column(0).cast(pa.large_binary()).to_pylist():
                if value is not None:
                    yield value.decode("utf-8", "replace")


def _column(path: Path, names: Sequence[str]) -> str:
    for name in COLUMNS:
        if name in names:
            return name
    if len(names) == 1:
        return names[0]
    columns = ", ".join(names)[:200] or "none"
    raise UserError(f"task.vocabulary={path} must have a column 'text' or 'caption'; it has {columns}")
