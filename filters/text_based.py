"""DataComp's text-based filter (Gadre et al. 2023, section 5.1): English captions that name an ImageNet-21k class."""

import hashlib
import re
from collections.abc import Callable
from functools import lru_cache
from pathlib import Path
from typing import Any

import torch

from benchmark.core.errors import UserError
from filters.english import English
from filters.text.wordnet import Nouns, find_wordnet, wordnet_digest

LONGEST = 80  # characters of a word that is looked up; WordNet's longest noun has 71
CACHED = 1 << 17  # words


class TextBased(English):
    """1 for an English caption with a word whose first noun synset is listed; all others get NaN.

    As in the released baseline: words are what stands between white space, with their punctuation, in any case; a
    plural counts as its singular; of a word's senses the first one decides. There the first sense of a word that is
    no noun counts as well, where its offset happens to be that of a listed noun; not here.

    Args:
        synsets: a file with a WordNet 3.0 noun id a line, such as n02084071.
        wordnet: the folder of WordNet's files; by default it is looked for.
    """

    def __init__(self, synsets: str, wordnet: str | None = None) -> None:
        super().__init__()
        self.synsets = synsets
        self.wordnet = wordnet
        self._names_entity: Callable[[str], bool] | None = None

    def identity(self) -> dict[str, Any]:
        """Name the list of synsets and WordNet by their contents."""
        listed = hashlib.sha256(_read(self.synsets).encode()).hexdigest()
        return super().identity() | {"synsets": listed, "wordnet": wordnet_digest(find_wordnet(self.wordnet))}

    def setup(self, device: torch.device) -> None:
        """Read the synsets and WordNet; `UserError` if they cannot be used."""
        super().setup(device)
        entities, nouns = read_synsets(self.synsets), Nouns(find_wordnet(self.wordnet))
        known = len(entities & nouns.offsets)
        if 2 * known < len(entities):
            raise UserError(
                f"WordNet knows {known} of the {len(entities)} ids in filter.synsets={self.synsets};"
                " ImageNet's are of WordNet 3.0"
            )

        @lru_cache(CACHED)
        def names_entity(word: str) -> bool:
            return nouns.first_synset(word) in entities

        self._names_entity = names_entity

    def _keeps(self, text: str) -> bool:
        assert self._names_entity is not None, "setup comes before score"
        named = any(self._names_entity(word) for word in text.split() if len(word) <= LONGEST)
        return named and super()._keeps(text)


def read_synsets(path: str) -> set[int]:
    """Return the offsets in a file of noun ids, one a line; `UserError` where a line holds something else."""
    offsets = set()
    for number, line in enumerate(_read(path).splitlines(), 1):
        wnid = line.strip()
        if wnid and not re.fullmatch(r"n[0-9]{8}", wnid):
            raise UserError(f"filter.synsets={path}: line {number} is no noun's id such as n02084071")
        if wnid:
            offsets.add(int(wnid[1:]))
    if not offsets:
        raise UserError(f"filter.synsets={path} lists no ids; give one such as n02084071 a line")
    return offsets


def _read(path: str) -> str:
    try:
        return Path(path).expanduser().read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError):
        raise UserError(
            f"filter.synsets={path} cannot be read; give a text file with one WordNet id such as n02084071 a line"
        ) from None
