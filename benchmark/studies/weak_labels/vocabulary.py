"""Which n-grams topics are made of: frequent ones, but not those of every tenth caption (Ghosal et al. 2019, 4.3)."""

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import ClassVar

from benchmark.core.batch import Batch
from benchmark.studies.text_spotting.vocabulary import forget
from filters.base import Reader
from filters.text.ngrams import Ngrams

HELD = 4_000_000  # different n-grams held while counting, about 500 MB


class CaptionNgrams(Reader):
    """Reads the n-grams of a pool's captions.

    Args:
        parser: the name of an installed spaCy pipeline for English, or the folder of one.
    """

    needs = frozenset()
    batch_size: ClassVar[int] = 4096

    def __init__(self, parser: str) -> None:
        self.features = (Ngrams(parser),)


def documents(batch: Batch) -> list[list[str]]:
    """Return the n-grams of each of n captions, unigrams and bigrams, as often as they occur."""
    both = zip(batch.features["unigrams"], batch.features["bigrams"], strict=True)
    return [[*unigrams, *bigrams] for unigrams, bigrams in both]


@dataclass(frozen=True)
class Vocabulary:
    """N-grams that topics are made of, those of most captions first, ties in the order of their characters.

    They were chosen from `captions` captions with `distinct` different n-grams, `too_common` of which occur in too
    many captions. Where more n-grams than `HELD` were met, rare ones were forgotten on the way: a count may then be
    up to `undercount` too low.
    """

    ngrams: list[str]
    captions: int
    distinct: int
    too_common: list[str]
    undercount: int


def choose_vocabulary(captions: Iterable[Sequence[str]], size: int, max_share: float) -> Vocabulary:
    """Choose the `size` n-grams that the most captions have, of those that fewer than `max_share` of them have.

    Args:
        captions: the n-grams of each caption.
        size: M, the paper's 25,000.
        max_share: the paper's 10%; the photographic stop words, as its supplement (2.2) calls them, have more.
    """
    counts: Counter[str] = Counter()
    total = undercount = 0
    for ngrams in captions:
        total += 1
        counts.update(set(ngrams))
        if len(counts) > HELD:
            undercount += forget(counts, HELD // 2)
    ranked = sorted(counts.items(), key=lambda item: (-item[1], item[0]))
    common = [ngram for ngram, count in ranked if count / total >= max_share]
    kept = [ngram for ngram, count in ranked if count / total < max_share][:size]
    return Vocabulary(kept, total, len(counts), common, undercount)
