"""Words of captions, and what kinds of words they are."""

import re
from collections import Counter
from collections.abc import Iterable
from pathlib import Path

from benchmark.core.paths import user_path
from pairsift.studies.text_files import UNQUOTED_TABS, TextFile

DIGITS, RATED, OTHER = "digits", "rated", "other"
_WORD = re.compile(r"[^\W_]+(?:['’][^\W_]+)*")
_WEB_STRING = re.compile(r"https?:|www\.|\.(?:com|net|org|jpe?g|png|gif)\b", re.IGNORECASE)
# Regular endings and what stands in their place in the word itself.
_ENDINGS = (
    ("'s", ""), ("ies", "y"), ("es", ""), ("s", ""), ("ed", ""), ("ed", "e"), ("ing", ""), ("ing", "e"),
)  # fmt: skip


def split_words(text: str) -> list[str]:
    """Return the lower-cased words of a text: letters and digits, with apostrophes only between them."""
    return _WORD.findall(text.lower())


def has_web_string(text: str) -> bool:
    """Return whether a text contains a URL or the name of a picture file."""
    return _WEB_STRING.search(text) is not None


def read_rated_words(path: Path) -> frozenset[str]:
    """Return the lower-cased words of the ratings of Brysbaert et al. 2014, a tab-separated file.

    Raises `UserError` if the file cannot be read, or lacks a column ``Word``.
    """
    rows = TextFile("profile.ratings", user_path(path), UNQUOTED_TABS).rows("Word")
    return frozenset(word.lower() for (word,) in rows)


def is_rated(word: str, rated: frozenset[str]) -> bool:
    """Return whether the word, or the word without a regular ending, is among the rated ones."""
    if word in rated:
        return True
    return any(word.endswith(end) and word[: -len(end)] + instead in rated for end, instead in _ENDINGS)


def count_kinds(tokens: Iterable[str], rated: frozenset[str]) -> Counter[str]:
    """Count words with digits, rated words and other words; the distinct words are looked up once each."""
    kinds: Counter[str] = Counter()
    for word, count in Counter(tokens).items():
        if any(character.isdigit() for character in word):
            kinds[DIGITS] += count
        else:
            kinds[RATED if is_rated(word, rated) else OTHER] += count
    return kinds
