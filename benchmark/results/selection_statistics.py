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
from benchmark.core.uids import UidArray
from benchmark.pool.pool import Pool
from benchmark.results.selection_summary import SKETCH, Histogram, SelectionSummary, Shares
from benchmark.results.text_in_images import have_text
from benchmark.subset.subset import captions_of
from filters.base import Filter

SAMPLE = 20_000  # captions of the pool, and as many kept ones: a share of them has a standard error of at most .0035
LANGUAGE_SAMPLE = 5_000  # of these; .12 s
LANGUAGES = 10
WORDS = 30
BINS = 60
OUTLIERS = 0.001  # share of scores at each end that may lie beyond the edges
# Not a seed of a run: `filter=random` ranks by the hash of its own.
SEED = 0x736B65746368
MAX_CHARACTERS = 2_000  # of a caption that are searched for words and language: it may be a megabyte
WORD = re.compile(r"[^\W\d_]{1,40}")
SIDES = ("original_width", "original_height", "width", "height")
Floats = npt.NDArray[np.floating[Any]]


def summarise(
    uids: UidArray, scores: Floats, kept: npt.NDArray[np.bool_], scorer: Filter, pool: Pool | None
) -> SelectionSummary:
    """Return the summary of a selection.

    Args:
        uids: the n scored pairs.
        scores: their scores, shape (n,); NaN is left out of the histogram.
        kept: which of them are selected, shape (n,).
        scorer: the filter; if it looked for text in the images, their share is counted.
        pool: the pool, to read captions from; None leaves out all that depends on them.
    """
    of_pool, of_kept = uids[_smallest(uids, SAMPLE)], uids[kept][_smallest(uids[kept], SAMPLE)]
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
    histograms = {name: histogram(*values) for name, values in counts.items()}
    hashes = np.sort(hash_uids(uids[kept], SEED))
    return SelectionSummary(
        scores=histogram(scores, scores[kept]),
        sampled=(len(captions[0]), len(captions[1])),
        histograms={
            name: counted for name, counted in histograms.items() if any(counted.pool) and any(counted.kept)
        },
        shares=shares,
        words=changed_words(*captions),
        sketch=tuple(hashes[:SKETCH].tolist()),
    )


def _smallest(uids: UidArray, count: int) -> npt.NDArray[np.int64]:
    """Return the positions of the `count` uids with the smallest hashes, in their order."""
    hashes = hash_uids(uids, SEED)
    if count < len(uids):
        positions = np.argpartition(hashes, count)[:count]
        return positions[np.argsort(hashes[positions])]
    return np.argsort(hashes)


def shorter_sides(pool: Pool, uids: UidArray) -> npt.NDArray[np.float64]:
    """Return the shorter side of each of n images in pixels, shape (n,), NaN where the metadata does not say."""
    width, height, downloaded_width, downloaded_height = pool.metadata_numbers(uids, SIDES).T
    original = np.minimum(width, height)
    downloaded = np.minimum(downloaded_width, downloaded_height)
    return np.asarray(np.where(np.isnan(original), downloaded, original))


def histogram(pool: Floats, kept: Floats) -> Histogram:
    """Count values of the pool, and of kept pairs, in at most `BINS` bins of equal width; NaN is left out."""
    values = [np.asarray(array[~np.isnan(array)], np.float64) for array in (pool, kept)]
    low, high, bins = _range(*values)
    counts = [np.histogram(np.clip(array, low, high), bins, (low, high))[0].tolist() for array in values]
    edges = np.linspace(low, high, bins + 1).tolist()
    return Histogram(tuple(edges), tuple(counts[0]), tuple(counts[1]))


def _range(*arrays: npt.NDArray[np.float64]) -> tuple[float, float, int]:
    """Return the outer edges and the number of bins: of both arrays, all but `OUTLIERS` lie between."""
    finite = [array[np.isfinite(array)] for array in arrays]
    ends = [np.quantile(f, (OUTLIERS, 1 - OUTLIERS), method="nearest") for f in finite if len(f)]
    if not ends:
        return -0.5, 0.5, 1
    low, high = float(np.min(ends)), float(np.max(ends))
    if all((f == np.round(f)).all() for f in finite) and max(-low, high) < 2**31:
        width = -(-(high - low + 1) // BINS)  # whole numbers: as many of them in every bin
        bins = int(-(-(high - low + 1) // width))
        return low - 0.5, low - 0.5 + width * bins, bins
    if low == high:
        margin = max(0.5, abs(low) / 2)
        return low - margin, high + margin, 1
    return low, high, BINS


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
    from filters.text.language import language_detector

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
