"""N-gram vocabularies: the most frequent sequences of n words in captions, in the text of images, or in a file."""

from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt

from benchmark.core.errors import UserError
from benchmark.core.hashes import hash_bytes
from benchmark.engine.base import Engine
from benchmark.pool.pool import Pool
from benchmark.scoring.score_pool import score_pool
from benchmark.scoring.shard_reader import PoolBatches
from benchmark.studies.text_files import COMMAS, TextFile
from filters.no_text import NoText
from filters.ocr.features import TextSpotter, legible_lines

TOP = 400_000  # n-grams kept of a vocabulary (Lin et al. 2023, section 5.2)
# Characters of an n-gram: web "words" can be megabytes of base64, and longer n-grams cannot be rendered.
LONGEST = 100
SLACK = 10  # up to this many times `top` distinct n-grams are held while counting


@dataclass(frozen=True)
class Vocabulary:
    """N-grams of one corpus, the most frequent first, in lexicographic order among equal counts."""

    source: str
    ngram: int
    ngrams: list[str]
    counts: npt.NDArray[np.int64]  # of each n-gram, int64, shape (len(ngrams),)
    distinct: int  # different n-grams in memory at the end
    occurrences: int
    too_long: int  # n-grams that were not counted since they have more than `LONGEST` characters
    # Largest possible error of a count. If a corpus has too many different n-grams, rare n-grams are forgotten on the
    # way; counts, and `distinct`, may then be too low.
    undercount: int

    @property
    def sha256(self) -> str:
        """Hash of the n-grams and their counts."""
        text = "\n".join(self.ngrams).encode("utf-8", "surrogatepass")
        return hash_bytes(text + self.counts.tobytes())


def ngrams_of(text: str, n: int) -> Iterator[str]:
    """Yield all sequences of `n` words of `text`, which is split at white space, joined by single spaces."""
    words = text.split()
    if n == 1:
        yield from words
        return
    for start in range(len(words) - n + 1):
        yield " ".join(words[start : start + n])


def count_ngrams(texts: Iterable[str], source: str, n: int = 1, top: int = TOP) -> Vocabulary:
    """Count the n-grams of `texts` from `source`; keep the `top` most frequent, with which alone memory grows."""
    counts: Counter[str] = Counter()
    occurrences = too_long = undercount = 0
    for text in texts:
        for ngram in ngrams_of(text, n):
            if len(ngram) > LONGEST:
                too_long += 1
                continue
            occurrences += 1
            counts[ngram] += 1
        if len(counts) > SLACK * top:
            undercount += forget(counts, SLACK * top // 2)
    kept = sorted(counts.items(), key=lambda item: (-item[1], item[0]))[:top]
    return Vocabulary(
        source,
        n,
        [ngram for ngram, _ in kept],
        np.array([count for _, count in kept], np.int64),
        len(counts),
        occurrences,
        too_long,
        undercount,
    )


def forget(counts: Counter[str], keep: int) -> int:
    """Keep at most the `keep` most frequent n-grams in `counts`; return the largest count that was forgotten."""
    limit = sorted(counts.values(), reverse=True)[keep]
    for ngram in [ngram for ngram, count in counts.items() if count <= limit]:
        del counts[ngram]
    return limit


COLUMNS = ("text", "caption")  # in this order of preference; the only column of a file may have any name
BATCH = 10_000  # captions
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
