"""Lexicon: mean human concreteness rating of a caption's words, in any order."""

import csv
import re
from collections.abc import Iterator
from typing import Any

import numpy as np

from benchmark.core.batch import Batch
from benchmark.core.devices import Device
from benchmark.core.errors import UserError
from benchmark.core.hashes import hash_bytes
from benchmark.core.paths import user_path
from benchmark.core.requirements import Requirement, look
from filters.base import Filter, Scores

WORD, RATING = "Word", "Conc.M"
_WORD = re.compile(r"[a-z]+")


class Lexicon(Filter):
    """Mean rating (1 to 5) of a caption's rated words; NaN for a caption without rated words.

    Captions are lower-cased and split at everything but the letters a to z. Every occurrence counts. The ratings are
    of lemmas: inflected forms are looked up without lemmatisation, and the file's two-word entries never match.

    Args:
        ratings: path of the ratings of Brysbaert et al. 2014 (40 thousand English lemmas), tab separated,
            with the columns ``Word`` and ``Conc.M``.
    """

    needs = frozenset({"text"})
    batch_size = 65536
    light = True

    def __init__(self, ratings: str | None) -> None:
        if ratings is None:
            raise UserError(
                "filter=lexicon needs filter.ratings=FILE, the word ratings of Brysbaert et al. 2014"
            )
        self.ratings = ratings
        self._rating: dict[str, float] = {}

    def identity(self) -> dict[str, Any]:
        """Identify the ratings by their content, not their path."""
        return super().identity() | {"ratings": hash_bytes(self._content())}

    def requirements(self) -> Iterator[Requirement]:
        """Yield the ratings."""
        yield look("filter.ratings", lambda: f"{len(self._content()):,} bytes in {self.ratings}")

    def setup(self, device: Device) -> None:
        """Read the ratings. Raises `UserError` when the file or a column is missing."""
        lines = self._content().decode("utf-8-sig", errors="replace").splitlines()
        # The file is not quoted: a quote in it is a character.
        reader = csv.DictReader(lines, delimiter="\t", quoting=csv.QUOTE_NONE)
        missing = [name for name in (WORD, RATING) if name not in (reader.fieldnames or ())]
        if missing:
            raise UserError(
                f"filter.ratings={self.ratings} has no column {missing[0]!r}; it must be tab separated, with a header"
            )
        try:
            self._rating = {row[WORD].lower(): float(row[RATING]) for row in reader}
        except (AttributeError, TypeError, ValueError, csv.Error):
            raise UserError(
                f"filter.ratings={self.ratings}: {RATING} of line {reader.line_num} must be a number"
            ) from None

    def score(self, batch: Batch) -> Scores:
        """Return mean ratings of shape (n,)."""
        return np.array([self._mean(text) for text in batch.texts], np.float32)

    def _mean(self, text: str) -> float:
        rated = [self._rating[word] for word in _WORD.findall(text.lower()) if word in self._rating]
        return sum(rated) / len(rated) if rated else float("nan")

    def _content(self) -> bytes:
        try:
            return user_path(self.ratings).read_bytes()
        except OSError:
            raise UserError(
                f"filter.ratings={self.ratings} cannot be read; give the word ratings of Brysbaert et al. 2014"
            ) from None
