"""Counts what `SelectionSummary` holds: scores of the whole pool, captions and images of a sample."""

import re
from collections import Counter
from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from benchmark.core.ties import hash_uids
from benchmark.core.uids import UidArray
from benchmark.pool.pool import Pool
from benchmark.pool.subset import captions_of
from benchmark.results.run_folder import Fractions, Histogram, SelectionSummary
from benchmark.scoring.score_table import ScoreTable
from filters.base import Scores

BINS = 60
OUTLIERS = 0.005  # fraction of a sample at each end that may be beyond the edges
# Captions of the pool, and as many of the kept pairs: a fraction of them has a standard error of at most .0035.
SAMPLE = 20_000
WORDS = 30
# Not a seed of a run: `filter=random` ranks by the hash with the run's seed.
SEED = 0x736B65746368
MAX_CHARACTERS = 2_000  # of a caption that are searched for words: it may be a megabyte
WORD = re.compile(r"[^\W\d_]{1,40}")
SIDES = ("original_width", "original_height", "width", "height")
Floats = npt.NDArray[np.floating[Any]]
Numbers = npt.NDArray[np.number[Any]]


def summarise(scores: ScoreTable, kept: ScoreTable, pool: Pool | None) -> SelectionSummary:
    """Return the summary of a selection.

    Args:
        scores: the scored pairs; a score that is NaN is left out of the histogram.
        pool: the pool, to read captions from; None leaves out all that depends on them.
    """
    (of_pool, pool_scores), (of_kept, kept_scores) = _sample(scores), _sample(kept)
    both = np.concatenate([of_pool, of_kept])
    texts = captions_of(pool, both) if pool else []
    parts = slice(len(of_pool)), slice(len(of_pool), None)
    in_pool, in_kept = captions = [[text for text in texts[part] if text] for part in parts]
    counts = {
        "words per caption": [np.array([len(text.split()) for text in part]) for part in captions],
        "characters per caption": [np.array([len(text) for text in part]) for part in captions],
    }
    if pool:
        # NaN if the metadata does not say.
        width, height, downloaded_width, downloaded_height = pool.metadata_numbers(both, SIDES).T
        original, downloaded = np.minimum(width, height), np.minimum(downloaded_width, downloaded_height)
        sides = np.where(np.isnan(original), downloaded, original)
        counts["shorter side of the image (pixels)"] = [sides[part] for part in parts]
    histograms = {name: histogram(values, values) for name, values in counts.items()}
    return SelectionSummary(
        scores=histogram([pool_scores, kept_scores], [scores.scores, kept.scores]),
        sampled=(len(in_pool), len(in_kept)),
        histograms={name: h for name, h in histograms.items() if any(h.pool) and any(h.kept)},
        words=changed_words(in_pool, in_kept),
    )


def _sample(table: ScoreTable) -> tuple[UidArray, Scores]:
    """Return the `SAMPLE` uids with the smallest hashes, in their order, and the scores of these."""
    hashes = hash_uids(table.uids, SEED)
    rows = np.argpartition(hashes, SAMPLE)[:SAMPLE] if len(table) > SAMPLE else np.arange(len(table))
    rows = rows[np.argsort(hashes[rows])]
    return table.uids[rows], table.scores[rows]


def histogram(samples: Sequence[Numbers], every: Sequence[Numbers]) -> Histogram:
    """Count numbers of the pool, and of kept pairs, in at most `BINS` bins of equal width.

    Args:
        samples: numbers of the pool, and of kept pairs, which decide the edges.
        every: all numbers of both; NaN is left out, and numbers beyond the edges count in the outer bins.
    """
    edges = _edges([sample[np.isfinite(sample)].astype(np.float64) for sample in samples])
    bins, ends = len(edges) - 1, (edges[0], edges[-1])
    known = [np.clip(of[~np.isnan(of)].astype(np.float64), *ends) for of in every]
    pool, kept = (tuple(np.histogram(of, bins, ends)[0].tolist()) for of in known)
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


def changed_words(pool: Sequence[str], kept: Sequence[str]) -> dict[str, Fractions]:
    """Return the `WORDS` words that differ most in their fractions of captions between pool and kept pairs."""
    if not pool or not kept:
        return {}
    of_pool, of_kept = (
        Counter(word for text in texts for word in set(WORD.findall(text[:MAX_CHARACTERS].lower())))
        for texts in (pool, kept)
    )
    words = {
        word: Fractions(round(of_pool[word] / len(pool), 6), round(of_kept[word] / len(kept), 6))
        for word in of_pool | of_kept
    }
    ranked = sorted(words, key=lambda word: (-abs(words[word].kept - words[word].pool), word))
    return {word: words[word] for word in ranked[:WORDS]}
