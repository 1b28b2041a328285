"""The texts whose n-grams are a vocabulary: captions, the text in images, or a file."""

from collections import Counter
from collections.abc import Iterator
from pathlib import Path

from benchmark.core.errors import UserError
from benchmark.engine.base import Engine
from benchmark.pool.exclusion import refuse_exclusions
from benchmark.pool.pool import Pool
from benchmark.scoring.score_pool import score_pool
from benchmark.scoring.shard_reader import PoolBatches
from filters.no_text import NoText
from filters.ocr.features import TextSpotter, legible_lines
from pairsift.studies.text_files import COMMAS, TextFile

COLUMNS = ("text", "caption")  # in this order of preference; the only column of a file may have any name
BATCH = 10_000  # captions
LONGEST_LINE = 1_000_000  # characters; a longer line of plain text is read in pieces
_CAPTIONS = frozenset({"text"})


def captions(pool: Pool, drops: Counter[str]) -> Iterator[str]:
    """Yield the captions of `pool`; unusable samples are counted by reason in `drops`."""
    refuse_exclusions(pool)
    for shard in pool.shards(_CAPTIONS):
        for batch in pool.batches(shard, _CAPTIONS, BATCH, drops):
            yield from batch.texts


def image_texts(pool: Pool, ocr: TextSpotter, engine: Engine) -> Iterator[str]:
    """Yield the legible text in each image of `pool`, its lines joined by spaces; OCR is cached."""
    refuse_exclusions(pool)
    scorer = NoText(ocr)
    score_pool(pool, scorer, engine)
    for batch in PoolBatches(pool, scorer):
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
    if (suffix := path.suffix.lower()) not in (".csv", ".parquet"):
        yield from _lines(path)
        return
    table = TextFile("task.vocabulary", path, COMMAS if suffix == ".csv" else None)
    names = table.columns()
    column = next((name for name in COLUMNS if name in names), names[0] if len(names) == 1 else None)
    if column is None:
        has = ", ".join(names)[:200] or "none"
        raise table.error(f"must have a column 'text' or 'caption'; it has {has}")
    for (text,) in table.rows(column):
        yield text


def _lines(path: Path) -> Iterator[str]:
    try:
        with path.open(encoding="utf-8-sig", errors="replace") as file:
            while line := file.readline(LONGEST_LINE):
                yield line
    except OSError as error:
        raise UserError(f"task.vocabulary={path} cannot be read: {error}") from None
