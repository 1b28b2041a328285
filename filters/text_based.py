"""DataComp's text-based filter (Gadre et al. 2023, section 5.1): English captions with an ImageNet-21k noun."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from benchmark.core.errors import UserError
from benchmark.core.hashes import hash_text
from benchmark.core.paths import user_path
from benchmark.core.requirements import Requirement, look
from filters.english import English
from filters.text.wordnet import Nouns, find_wordnet, wordnet_digest

if TYPE_CHECKING:
    import torch

MAX_WORD_LENGTH = 80  # characters; WordNet's longest noun has 71
CACHED_WORDS = 1 << 17


class TextBased(English):
    """1 for an English caption with a word whose first noun synset is in the list, else NaN.

    As in the released baseline, words are split at white space, keep their punctuation and match in any case; plurals
    match their singular; only the first sense of a word counts. Unlike there, other parts of speech never match: the
    baseline accepts a verb whose offset happens to equal that of a listed noun.

    Args:
        synsets: path of a text file with one WordNet 3.0 noun id per line, such as n02084071.
        wordnet: folder of WordNet's files; None searches the folders of nltk and Debian.
    """

    def __init__(self, synsets: str, wordnet: str | None = None) -> None:
        super().__init__()
        self.synsets = synsets
        self.wordnet = wordnet
        self._names_entity: Callable[[str], bool] | None = None

    def identity(self) -> dict[str, Any]:
        """Identify the synsets and WordNet by their content."""
        digest = hash_text(_read(self.synsets))
        return super().identity() | {"synsets": digest, "wordnet": wordnet_digest(find_wordnet(self.wordnet))}

    def requirements(self) -> Iterator[Requirement]:
        """Yield the synsets and WordNet."""
        yield look("filter.synsets", lambda: f"{len(read_synsets(self.synsets)):,} ids in {self.synsets}")
        yield look("WordNet", lambda: find_wordnet(self.wordnet))

    def setup(self, device: torch.device) -> None:
        """Read the synsets and WordNet. Raises `UserError` when they cannot be used."""
        super().setup(device)
        entities, nouns = read_synsets(self.synsets), Nouns(find_wordnet(self.wordnet))
        known = len(entities & nouns.offsets)
        if 2 * known < len(entities):
            raise UserError(
                f"filter.synsets={self.synsets}: only {known} of its {len(entities)} ids are in this WordNet; both"
                " must be of one version, 3.0 for ImageNet's ids"
            )

        @lru_cache(CACHED_WORDS)
        def names_entity(word: str) -> bool:
            return nouns.first_synset(word) in entities

        self._names_entity = names_entity

    def _keeps(self, text: str) -> bool:
        assert self._names_entity is not None, "setup comes before score"
        named = any(self._names_entity(word) for word in text.split() if len(word) <= MAX_WORD_LENGTH)
        return named and super()._keeps(text)


def read_synsets(path: str) -> set[int]:
    """Return the offsets in a file of noun ids, one per line. Raises `UserError` for any other content."""
    offsets = set()
    for number, line in enumerate(_read(path).splitlines(), 1):
        wnid = line.strip()
        if wnid and not re.fullmatch(r"n[0-9]{8}", wnid):
            raise UserError(f"filter.synsets={path}: line {number} must be a noun's id such as n02084071")
        if wnid:
            offsets.add(int(wnid[1:]))
    if not offsets:
        raise UserError(f"filter.synsets={path} must list at least one id such as n02084071, one per line")
    return offsets


def _read(path: str) -> str:
    try:
        return user_path(path).read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError):
        raise UserError(
            f"filter.synsets={path} cannot be read; give a text file with one WordNet id such as n02084071 per line"
        ) from None
