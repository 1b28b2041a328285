"""The vocabulary of the topics: frequent n-grams, without those in over 10% of captions (Ghosal et al. 2019, 4.3)."""

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from benchmark.studies.text_spotting.vocabulary import forget

MAX_COUNTED = 4_000_000  # distinct n-grams in memory while counting, about 500 MB


@dataclass(frozen=True)
class Vocabulary:
    """The n-grams of the topics, and how they were chosen.

    Args:
        ngrams: the vocabulary, sorted by descending number of captions, then alphabetically.
        captions: number of captions counted.
        distinct: number of distinct n-grams counted.
        too_common: n-grams left out because they occur in too many captions.
        undercount: upper bound of the error of a count; above 0 if rare n-grams had to be dropped while counting,
            because there were more than `MAX_COUNTED`.
    """

    ngrams: list[str]
    captions: int
    distinct: int
    too_common: list[str]
    undercount: int


def choose_vocabulary(captions: Iterable[Sequence[str]], size: int, max_share: float) -> Vocabulary:
    """Return the `size` n-grams that occur in the most captions, but in less than `max_share` of them.

    Args:
        captions: n-grams of each caption.
        size: M, the maximum size of the vocabulary (25,000 in the paper).
        max_share: n-grams in at least this share of captions are left out (10% in the paper, whose supplement, 2.2,
            calls them photographic stop words).
    """
    counts: Counter[str] = Counter()
    total = undercount = 0
    for ngrams in captions:
        total += 1
        counts.update(set(ngrams))
        if len(counts) > MAX_COUNTED:
            undercount += forget(counts, MAX_COUNTED // 2)
    ranked = sorted(counts.items(), key=lambda item: (-item[1], item[0]))
    common = [ngram for ngram, count in ranked if count / total >= max_share]
    kept = [ngram for ngram, count in ranked if count / total < max_share][:size]
    return Vocabulary(kept, total, len(counts), common, undercount)
