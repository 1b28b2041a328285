"""The n-grams of AVA-Captions: nouns, and pairs of descriptive words (Ghosal et al. 2019, section 3)."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import pairwise
from typing import TYPE_CHECKING, Any, ClassVar

from benchmark.core.batch import Batch
from filters.base import Features
from filters.text.lemmas import singular
from filters.text.parsing import CaptionParser

if TYPE_CHECKING:
    import torch

if TYPE_CHECKING:
    from spacy.tokens import Doc, Token

NOUNS = frozenset({"NOUN", "PROPN"})
FIRST = NOUNS | {"ADJ", "ADV"}
SECOND = NOUNS | {"ADJ"}
# Function words are removed before pairing: the paper's n-grams include "depth field", "rule third" and "lighting
# bit" (supplement, table 3), and the scores of its figure 2 cannot be reproduced otherwise.
FUNCTION = frozenset({"ADP", "AUX", "CCONJ", "DET", "PART", "PRON", "PUNCT", "SCONJ", "SPACE", "SYM"})


class Ngrams(Features):
    """A caption's unigrams and bigrams, lower-cased, in order, with repetitions; nouns are in the singular.

    A spaCy pipeline tags the parts of speech. Captions are truncated to 1,000 characters.

    Args:
        parser: name of an installed spaCy pipeline for English, or the path of one.
    """

    needs = frozenset({"text"})
    batch_size: ClassVar[int] = 2048

    def __init__(self, parser: str) -> None:
        self.parser = CaptionParser(parser, parse=False)

    def identity(self) -> dict[str, Any]:
        """Add how words are written."""
        return super().identity() | {"nouns": "singular"}

    def setup(self, device: torch.device) -> None:
        """Load the pipeline, on the CPU. Raises `UserError` when it is missing or has no tagger."""
        self.parser.setup()

    def extract(self, batch: Batch) -> Mapping[str, list[list[str]]]:
        """Return ``unigrams`` and ``bigrams``, each a list per caption."""
        pairs = self.parser.read(batch.texts, ngrams)
        return {"unigrams": [unigrams for unigrams, _ in pairs], "bigrams": [bigrams for _, bigrams in pairs]}


def ngrams(doc: Doc) -> tuple[list[str], list[str]]:
    """Return the nouns, and the bigrams (noun | adjective | adverb)(noun | adjective), joined by a space.

    Nouns are lemmas, as in the supplement's table 3 ("rule third", "color reflection"); other words and names are as
    written ("darker", "centered composition").
    """
    words = [(_lemma(token), token.pos_) for token in doc if token.pos_ not in FUNCTION]
    unigrams = [word for word, speech in words if speech in NOUNS]
    bigrams = [
        f"{first} {second}"
        for (first, speech), (second, of_second) in pairwise(words)
        if speech in FIRST and of_second in SECOND
    ]
    return unigrams, bigrams


def _lemma(token: Token) -> str:
    return singular(token.lower_) if token.pos_ == "NOUN" else str(token.lower_)
