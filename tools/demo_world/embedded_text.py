"""Text in images, a layer over all kinds of captions: draws the words in an image, given its caption.

The rates are LAION-2B's (Lin et al. 2023, Table 1): 54.6% of the images hold text. About 90% of their captions
repeat a word of it; 28% of the captions' words are in the image exactly, and 56% by fuzzy matching.
"""

from collections.abc import Sequence

import numpy as np

from pairsift.demo.draws import pick
from tools.demo_world.language.titles.names import sample_name

# No text; text that the caption does not repeat; one word of the caption, and others altered.
KINDS = ("none", "stray", "words")
ALL = "all"  # the whole caption and nothing else: a parrot's text
MAX_WORDS = 8  # maximum words of a caption in an image
ALTERED = 0.6  # fraction of the other words that the image shows in another form
STRAY = (
    "SALE", "NEW", "-50%", "LIVE", "NEWS", "SAMPLE", "PREVIEW", "PROMO", "TV 24", "DEMO", "www", "HD", "VOL 2",
    "FREE", "No. 1", "OPEN", "EXIT", "HOTEL", "CAFE", "2019", "EST 1987", "TOP 10", "HOW TO", "READ MORE", "DAY 3",
)  # fmt: skip


def embedded_words(caption: str, kind: str, rng: np.random.Generator) -> list[str]:
    """Return the words written in the image of a pair, in their order; empty for "none".

    Args:
        caption: the caption.
        kind: one of `KINDS`, or `ALL`.
        rng: random generator of the pair.
    """
    if kind == "none":
        return []
    if kind == ALL:
        return caption.split()
    words = [word for word in caption.split() if word.isascii()]
    if kind == "stray" or not words:
        return stray_words(rng)
    run = _run(words, min(len(words), MAX_WORDS), rng)
    exact = int(rng.random() * len(run))
    shown = []
    for index, word in enumerate(run):
        if index == exact:
            shown.append(word)
        elif rng.random() < ALTERED:
            shown.append(alter(word, rng))
    return shown


def alter(word: str, rng: np.random.Generator) -> str:
    """Return `word` in another case, ending or spelling, as an image may show a word of its caption."""
    style = rng.random()
    if style < 0.6 and word[0].isalpha():
        return word[0].swapcase() + word[1:]
    if style < 0.85 or len(word) < 4:
        return f"{word}s" if word[-1].isalpha() else word.rstrip(",.:;!?)") or word
    middle = 1 + int(rng.random() * (len(word) - 2))
    return word[:middle] + word[middle + 1 :]


def stray_words(rng: np.random.Generator) -> list[str]:
    """Return words that a logo, a watermark or a sign could have."""
    if rng.random() < 0.4:
        return pick(rng, STRAY).split()
    words = sample_name("brand" if rng.random() < 0.7 else "place", rng).words
    return [word.upper() for word in words] if rng.random() < 0.5 else list(words)


def _run(words: Sequence[str], length: int, rng: np.random.Generator) -> list[str]:
    """Return `length` neighbouring words."""
    start = int(rng.random() * (len(words) - length + 1))
    return list(words[start : start + length])
