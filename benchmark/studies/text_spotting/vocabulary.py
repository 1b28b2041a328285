"""N-gram vocabularies: all contiguous sequences of n words of a corpus, the most frequent kept."""

import hashlib
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

TOP = 400_000  # n-grams kept of a vocabulary (Lin et al. 2023, section 5.2)
LONGEST = (
    100  # characters of an n-gram; web "words" can be megabytes of base64, and none this long can be drawn
)
SLACK = 10  # times as many distinct n-grams as are asked for are held while counting


@dataclass(frozen=True)
class Vocabulary:
    """N-grams of one corpus, the most frequent first, equally frequent ones in the order of their characters.

    `counts` int64 (len(ngrams),). `occurrences` are all that were counted, `too_long` those that were not. `distinct`
    n-grams were held at the end. Where more than memory allows were met, rare ones were forgotten on the way: a
    count may then be up to `undercount` too low, and `distinct` too.
    """

    source: str
    ngram: int
    ngrams: list[str]
    counts: npt.NDArray[np.int64]
    distinct: int
    occurrences: int
    too_long: int
    undercount: int

    @property
    def sha256(self) -> str:
        """Hash of the n-grams and their counts."""
        text = "\n".join(self.ngrams).encode("utf-8", "surrogatepass")
        return hashlib.sha256(text + self.counts.tobytes()).hexdigest()


def ngrams_of(text: str, n: int) -> Iterator[str]:
    """Yield the runs of `n` words of `text`, which is split at white space; words are joined by one space."""
    words = text.split()
    if n == 1:
        yield from words
        return
    for start in range(len(words) - n + 1):
        yield " ".join(words[start : start + n])


def count_ngrams(texts: Iterable[str], source: str, n: int = 1, top: int = TOP) -> Vocabulary:
    """Count the n-grams of `texts` and keep the `top` most frequent; memory is bounded by `top`, not by the texts."""
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
    """Leave at most `keep` n-grams in `counts`, the most frequent; return the largest count that was forgotten."""
    limit = sorted(counts.values(), reverse=True)[keep]
    for ngram in [ngram for ngram, count in counts.items() if count <= limit]:
        del counts[ngram]
    return limit
