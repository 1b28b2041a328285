"""The most frequent n-grams, sequences of n words, of texts."""

from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from benchmark.core.hashes import hash_bytes

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
    """Count the n-grams of `texts` from `source`; keep the `top` most frequent; memory grows with `top` only."""
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
    ngrams, numbers = [ngram for ngram, _ in kept], np.array([count for _, count in kept], np.int64)
    return Vocabulary(source, n, ngrams, numbers, len(counts), occurrences, too_long, undercount)


def forget(counts: Counter[str], keep: int) -> int:
    """Keep at most the `keep` most frequent n-grams in `counts`; return the largest count that was forgotten."""
    limit = sorted(counts.values(), reverse=True)[keep]
    for ngram in [ngram for ngram, count in counts.items() if count <= limit]:
        del counts[ngram]
    return limit
