"""Counts what `SelectionSummary` holds: scores of the whole pool, captions of a sample."""

import re
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from benchmark.core.errors import UserError
from benchmark.core.extras import require
from benchmark.core.ties import hash_uids
from benchmark.core.uids import UID_DTYPE, UidArray
from benchmark.pool.pool import Pool
from benchmark.pool.subset import captions_of
from benchmark.results.histograms import Numbers, histogram
from benchmark.results.selection_summary import SKETCH, SelectionSummary, Shares
from benchmark.results.text_in_images import have_text
from benchmark.scoring.score_table import ArraySource, ScoreSource
from filters.base import Filter

SAMPLE = 20_000  # captions of the pool, and as many kept ones: a share of them has a standard error of at most .0035
LANGUAGE_SAMPLE = 5_000  # of these; .12 s
LANGUAGES = 10
WORDS = 30
# Not a seed of a run: `filter=random` ranks by the hash of its own.
SEED = 0x736B65746368
MAX_CHARACTERS = 2_000  # of a caption that are searched for words and language: it may be a megabyte
WORD = re.compile(r"[^\W\d_]{1,40}")
SIDES = ("original_width", "original_height", "width", "height")
Floats = npt.NDArray[np.floating[Any]]


def summarise(scores: ScoreSource, kept: ArraySource, scorer: Filter, pool: Pool | None) -> SelectionSummary:
    """Return the summary of a selection.

    Args:
        scores: the scored pairs; a score that is NaN is left out of the histogram.
        kept: the selected ones.
        scorer: the filter; if it looked for text in the images, their share is counted.
        pool: the pool, to read captions from; None leaves out all that depends on them.
    """
    of_pool, of_kept = (_sample(uids for uids, _ in source.blocks()) for source in (scores, kept))
    both = np.concatenate([of_pool, of_kept])
    texts = captions_of(pool, both) if pool else []
    captions = [[text for text in part if text] for part in (texts[: len(of_pool)], texts[len(of_pool) :])]
    counts = {
        "words per caption": [np.array([len(text.split()) for text in part]) for part in captions],
        "characters per caption": [np.array([len(text) for text in part]) for part in captions],
    }
    shares = _language_shares(*captions)
    if pool:
        sides, text = shorter_sides(pool, both), have_text(pool, scorer, both)
        counts["shorter side of the image (pixels)"] = [sides[: len(of_pool)], sides[len(of_pool) :]]
        shares |= _text_shares(text[: len(of_pool)], text[len(of_pool) :])
    histograms = {name: histogram(*map(Numbers.of, values)) for name, values in counts.items()}
    hashes = np.sort(hash_uids(kept.arrays()[0], SEED))
    return SelectionSummary(
        scores=histogram(Numbers(scores.scores, scores.dtype), Numbers(kept.scores, kept.dtype)),
        sampled=(len(captions[0]), len(captions[1])),
        histograms={
            name: counted for name, counted in histograms.items() if any(counted.pool) and any(counted.kept)
        },
        shares=shares,
        words=changed_words(*captions),
        sketch=tuple(hashes[:SKETCH].tolist()),
    )


def _sample(arrays: Iterable[UidArray]) -> UidArray:
    """Return the `SAMPLE` uids with the smallest hashes, in their order."""
    sample = np.empty(0, UID_DTYPE)
    for uids in arrays:
        joined = np.concatenate([sample, uids])
        hashes = hash_uids(joined, SEED)
        if len(joined) > SAMPLE:
            smallest = np.argpartition(hashes, SAMPLE)[:SAMPLE]
            joined, hashes = joined[smallest], hashes[smallest]
        sample = joined[np.argsort(hashes)]
    return sample


def shorter_sides(pool: Pool, uids: UidArray) -> npt.NDArray[np.float64]:
    """Return the shorter side of each of n images in pixels, shape (n,), NaN where the metadata does not say."""
    width, height, downloaded_width, downloaded_height = pool.metadata_numbers(uids, SIDES).T
    original = np.minimum(width, height)
    downloaded = np.minimum(downloaded_width, downloaded_height)
    return np.asarray(np.where(np.isnan(original), downloaded, original))


def changed_words(pool: Sequence[str], kept: Sequence[str]) -> dict[str, Shares]:
    """Return the `WORDS` words whose share of captions differs most between pool and kept pairs, in that order."""
    if not pool or not kept:
        return {}
    shares = _shares(_words(pool), _words(kept), len(pool), len(kept))
    ranked = sorted(shares, key=lambda word: (-abs(shares[word].kept - shares[word].pool), word))
    return {word: shares[word] for word in ranked[:WORDS]}


def _words(texts: Iterable[str]) -> Counter[str]:
    """Return how many texts have each word."""
    return Counter(word for text in texts for word in set(WORD.findall(text[:MAX_CHARACTERS].lower())))


def _language_shares(pool: Sequence[str], kept: Sequence[str]) -> dict[str, dict[str, Shares]]:
    """Return the shares of the most frequent languages; nothing where the extra `language` is not installed."""
    try:
        require("language")
    except UserError:
        return {}
    if not pool or not kept:
        return {}
    from filters.english import language_detector

    detect = language_detector()
    counts = [_languages(texts[:LANGUAGE_SAMPLE], detect) for texts in (pool, kept)]
    totals = [count.total() for count in counts]
    frequent = [name for name, _ in (counts[0] + counts[1]).most_common(LANGUAGES)]
    named = [Counter({name: count[name] for name in frequent}) for count in counts]
    for count, total in zip(named, totals, strict=True):
        count["other"] = total - count.total()
    return {"language": _shares(named[0], named[1], totals[0], totals[1])}


def _languages(texts: Iterable[str], detect: Callable[[str], str | None]) -> Counter[str]:
    return Counter(detect(text[:MAX_CHARACTERS]) or "unknown" for text in texts)


def _text_shares(pool: Floats, kept: Floats) -> dict[str, dict[str, Shares]]:
    """Return the shares of images with and without text, of those where it is known."""
    known = [array[~np.isnan(array)] for array in (pool, kept)]
    if not all(map(len, known)):
        return {}
    counts = [Counter({"yes": int(array.sum()), "no": int((array == 0).sum())}) for array in known]
    return {"text area in the image": _shares(counts[0], counts[1], len(known[0]), len(known[1]))}


def _shares(pool: Counter[str], kept: Counter[str], of_pool: int, of_kept: int) -> dict[str, Shares]:
    """Return the shares of all values, the most frequent of the pool first."""
    names = sorted(pool.keys() | kept.keys(), key=lambda name: (-pool[name], name))
    return {name: Shares(round(pool[name] / of_pool, 6), round(kept[name] / of_kept, 6)) for name in names}
