"""Text in images, a layer over all kinds of captions: which words an image holds, given its caption.

The rates are those of LAION-2B (Lin et al. 2023, Table 1): 54.6% of the images hold text; of those, about 90% of the
captions repeat a word of it, 28% of the captions' words are in the image exactly, and 56% by fuzzy matching.
"""

from collections.abc import Sequence

import numpy as np

from benchmark.demo.language.names import sample_name
from benchmark.demo.sampling import pick

# No text; text that the caption does not repeat; a word or two of the caption; most of the caption.
KINDS = ("none", "stray", "words", "whole")
MAX_WORDS = 8  # of a caption that fit into an image
STRAY = (
    "SALE", "NEW", "-50%", "LIVE", "NEWS", "SAMPLE", "PREVIEW", "PROMO", "TV 24", "DEMO", "www", "HD", "VOL 2",
    "FREE", "No. 1", "OPEN", "EXIT", "HOTEL", "CAFE", "2019", "EST 1987", "TOP 10", "HOW TO", "READ MORE", "DAY 3",
)  # fmt: skip


def embedded_words(caption: str, kind: str, rng: np.random.Generator) -> list[str]:
    """Return the words written in the image of a pair, in their order; empty for "none".

    Args:
        caption: the caption.
        kind: one of `KINDS`.
        rng: random generator of the pair.
    """
    if kind == "none":
        return []
    words = [word for word in caption.split() if word.isascii()]
    if kind == "stray" or not words:
        return stray_words(rng)
    if kind == "words":
        run = _run(words, 1 if rng.random() < 0.5 else 2, rng)
        return [*stray_words(rng), *run] if rng.random() < 0.4 else run
    return _run(words, min(MAX_WORDS, max(2, round((0.6 + 0.4 * rng.random()) * len(words)))), rng)


def stray_words(rng: np.random.Generator) -> list[str]:
    """Return words as of a logo, a watermark or a sign."""
    if rng.random() < 0.4:
        return pick(rng, STRAY).split()
    words = sample_name("brand" if rng.random() < 0.7 else "place", rng).words
    return [word.upper() for word in words] if rng.random() < 0.5 else list(words)


def _run(words: Sequence[str], length: int, rng: np.random.Generator) -> list[str]:
    """Return `length` neighbouring words."""
    start = int(rng.random() * (len(words) - length + 1)) if len(words) > length else 0
    return list(words[start : start + length])
