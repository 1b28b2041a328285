"""Hand-made parses for the tests of scene graphs."""

from collections.abc import Sequence
from functools import cache
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from spacy.tokens import Doc
    from spacy.vocab import Vocab


@cache
def vocabulary() -> "Vocab":
    """English, empty; lower case is the language's."""
    import spacy

    return spacy.blank("en").vocab


def parsed(text: str) -> "Doc":
    """Build a document from words written ``word/POS/label/head``, the head by its number from 1, 0 for the root."""
    rows = [word.split("/") for word in text.split()]
    return document([row[0] for row in rows], [row[1] for row in rows], [row[2] for row in rows],
                    [int(row[3]) for row in rows])  # fmt: skip


def document(words: Sequence[str], pos: Sequence[str], deps: Sequence[str], heads: Sequence[int]) -> "Doc":
    """Build a document; heads are numbers from 1, 0 for the root."""
    from spacy.tokens import Doc

    positions = [head - 1 if head else position for position, head in enumerate(heads)]
    return Doc(vocabulary(), words=list(words), pos=list(pos), deps=list(deps), heads=positions)
