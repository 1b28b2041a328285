"""Counts what `SelectionSummary` holds: scores of the whole pool, captions and images of a sample."""

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from benchmark.core.errors import UserError
from benchmark.core.extras import require
from benchmark.core.ties import hash_uids
from benchmark.core.uids import UidArray
from benchmark.pool.pool import Pool
from benchmark.pool.subset import captions_of
from benchmark.results.run_folder import Fractions, Histogram, SelectionSummary
from benchmark.scoring.score_table import ScoreTable
from filters.base import Scores

BINS = 60
OUTLIERS = 0.005  # fraction of a sample at each end that may be beyond the edges
# Captions of the pool, and as many kept ones: a fraction of them has a standard error of at most .0035.
SAMPLE = 20_000
LANGUAGE_SAMPLE = 5_000  # of these; .12 s
LANGUAGES = 10
WORDS = 30
# Not a seed of a run: `filter=random` ranks by the hash with the run's seed.
SEED = 0x736B65746368
MAX_CHARACTERS = 2_000  # of a caption that are searched for words and language: it may be a megabyte
WORD = re.compile(r"[^\W\d_]{1,40}")
SIDES = ("original_width", "original_height", "width", "height")
Floats = npt.NDArray[np.floating[Any]]
Numbers = npt.NDArray[np.number[Any]]
Pair = tuple[Sequence[str], Sequence[str]]  # captions of the pool, and kept captions


def summarise(scores: ScoreTable, kept: ScoreTable, pool: Pool | None) -> SelectionSummary:
    """Return the summary of a selection.

    Args:
        scores: the scored pairs; a score that is NaN is left out of the histogram.
        pool: the pool, to read captions from; None leaves out all that depends on them.
    """
    (of_pool, pool_scores), (of_kept, kept_scores) = _sample(scores), _sample(kept)
    both = np.concatenate([of_pool, of_kept])
    texts = captions_of(pool, both) if pool else []
    captions = (
        [text for text in texts[: len(of_pool)] if text],
        [text for text in texts[len(of_pool) :] if text],
    )
    counts = {
        "words per caption": [np.array([len(text.split()) for text in part]) for part in captions],
        "characters per caption": [np.array([len(text) for text in part]) for part in captions],
    }
    if pool:
        sides = shorter_sides(pool, both)
        counts["shorter side of the image (pixels)"] = [sides[: len(of_pool)], sides[len(of_pool) :]]
    histograms = {name: histogram(values, [[part] for part in values]) for name, values in counts.items()}
    return SelectionSummary(
        scores=histogram([pool_scores, kept_scores], [[scores.scores], [kept.scores]]),
        sampled=(len(captions[0]), len(captions[1])),
        histograms={name: h for name, h in histograms.items() if any(h.pool) and any(h.kept)},
        shares=_language_fractions(captions),
        words=changed_words(*captions),
    )


def _sample(table: ScoreTable) -> tuple[UidArray, Scores]:
    """Return the `SAMPLE` uids with the smallest hashes, in their order, and the scores of these."""
    hashes = hash_uids(table.uids, SEED)
    rows = np.argpartition(hashes, SAMPLE)[:SAMPLE] if len(table) > SAMPLE else np.arange(len(table))
    rows = rows[np.argsort(hashes[rows])]
    return table.uids[rows], table.scores[rows]


def histogram(samples: Sequence[Numbers], arrays: Sequence[Iterable[Numbers]]) -> Histogram:
    """Count numbers of the pool, and of kept pairs, in at most `BINS` bins of equal width.

    Args:
        samples: numbers of the pool, and of kept pairs, which decide the edges.
        arrays: all numbers of both, in any number of arrays; NaN is left out.
    """
    edges = _edges([sample[np.isfinite(sample)].astype(np.float64) for sample in samples])
    pool, kept = (_count(some, edges) for some in arrays)
    return Histogram(tuple(edges.tolist()), pool, kept)


def _edges(samples: Sequence[Floats]) -> Floats:
    """Return the edges of the bins, the outer edges such that they enclose all of each sample but `OUTLIERS`."""
    ends = [np.quantile(some, (OUTLIERS, 1 - OUTLIERS), method="nearest") for some in samples if len(some)]
    if not ends:
        return np.array([-0.5, 0.5])
    low, high = float(np.min(ends)), float(np.max(ends))
    if all((some == np.round(some)).all() for some in samples) and max(-low, high) < 2**31:
        width = -(-(high - low + 1) // BINS)  # as many whole numbers in every bin
        return low - 0.5 + width * np.arange(-(-(high - low + 1) // width) + 1)
    if low == high:
        margin = max(0.5, abs(low) / 2)
        return np.array([low - margin, high + margin])
    return np.linspace(low, high, BINS + 1)


def _count(arrays: Iterable[Numbers], edges: Floats) -> tuple[int, ...]:
    """Count all but NaN; numbers beyond the edges count in the outer bins."""
    bins, low, high = len(edges) - 1, edges[0], edges[-1]
    counts = np.zeros(bins, np.int64)
    for array in arrays:
        values = np.asarray(array[~np.isnan(array)], np.float64)
        counts += np.histogram(np.clip(values, low, high), bins, (low, high))[0]
    return tuple(counts.tolist())


def shorter_sides(pool: Pool, uids: UidArray) -> npt.NDArray[np.float64]:
    """Return the shorter side of each of n images in pixels, shape (n,), NaN if the metadata does not say."""
    width, height, downloaded_width, downloaded_height = pool.metadata_numbers(uids, SIDES).T
    original = np.minimum(width, height)
    downloaded = np.minimum(downloaded_width, downloaded_height)
    return np.asarray(np.where(np.isnan(original), downloaded, original))


def changed_words(pool: Sequence[str], kept: Sequence[str]) -> dict[str, Fractions]:
    """Return the `WORDS` words whose fraction of captions differs most between pool and kept pairs, in that order."""
    if not pool or not kept:
        return {}
    counts = [
        Counter(w for text in texts for w in set(WORD.findall(text[:MAX_CHARACTERS].lower())))
        for texts in (pool, kept)
    ]
    words = _fractions(counts[0], counts[1], len(pool), len(kept))
    ranked = sorted(words, key=lambda word: (-abs(words[word].kept - words[word].pool), word))
    return {word: words[word] for word in ranked[:WORDS]}


def _language_fractions(captions: Pair) -> dict[str, dict[str, Fractions]]:
    """Return the fractions of the most frequent languages; nothing unless the extra `language` is installed."""
    try:
        require("language")
    except UserError:
        return {}
    if not all(captions):
        return {}
    from filters.english import language_detector

    detect = language_detector()
    counts = [
        Counter(detect(text[:MAX_CHARACTERS]) or "unknown" for text in texts[:LANGUAGE_SAMPLE])
        for texts in captions
    ]
    totals = [count.total() for count in counts]
    frequent = [name for name, _ in (counts[0] + counts[1]).most_common(LANGUAGES)]
    named = [Counter({name: count[name] for name in frequent}) for count in counts]
    for count, total in zip(named, totals, strict=True):
        count["other"] = total - count.total()
    return {"language": _fractions(named[0], named[1], totals[0], totals[1])}


def _fractions(pool: Counter[str], kept: Counter[str], of_pool: int, of_kept: int) -> dict[str, Fractions]:
    """Return the fractions of all values, the most frequent of the pool first."""
    names = sorted(pool.keys() | kept.keys(), key=lambda name: (-pool[name], name))
    return {name: Fractions(round(pool[name] / of_pool, 6), round(kept[name] / of_kept, 6)) for name in names}
