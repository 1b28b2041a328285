"""Hand-made parses for the tests of scene graphs."""

from collections.abc import Sequence

import spacy
from spacy.tokens import Doc

VOCAB = spacy.blank("en").vocab


def parsed(text: str) -> Doc:
    """Build a document from words written ``word/POS/label/head``, the head by its number from 1, 0 for the root."""
    rows = [word.split("/") for word in text.split()]
    return document([row[0] for row in rows], [row[1] for row in rows], [row[2] for row in rows],
                    [int(row[3]) for row in rows])  # fmt: skip


def document(words: Sequence[str], pos: Sequence[str], deps: Sequence[str], heads: Sequence[int]) -> Doc:
    """Build a document; heads are numbers from 1, 0 for the root."""
    places = [head - 1 if head else place for place, head in enumerate(heads)]
    return Doc(VOCAB, words=list(words), pos=list(pos), deps=list(deps), heads=places)
