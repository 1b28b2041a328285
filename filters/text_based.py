"""DataComp's text-based filter (Gadre et al. 2023, section 4.1): English captions with an ImageNet-21k noun."""

import os
import re
import sys
import zipfile
from collections.abc import Callable, Iterator
from functools import lru_cache
from pathlib import Path
from typing import Any

from benchmark.core.devices import Device
from benchmark.core.errors import UserError
from benchmark.core.hashes import hash_bytes, hash_text
from benchmark.core.paths import user_path
from benchmark.core.requirements import Requirement, look
from filters.english import English

MAX_WORD_LENGTH = 80  # characters; WordNet's longest noun has 71
CACHED_WORDS = 1 << 17
INDEX, EXCEPTIONS = "index.noun", "noun.exc"
DEBIAN = Path("/usr/share/wordnet")
REMEDY = "python -m nltk.downloader wordnet, or apt install wordnet-base, or filter.wordnet=FOLDER"
# Endings of plurals and of their singulars, as nltk tries them (morphy(7WN), "Rules of Detachment").
ENDINGS = (
    ("s", ""), ("ses", "s"), ("ves", "f"), ("xes", "x"), ("zes", "z"), ("ches", "ch"), ("shes", "sh"),
    ("men", "man"), ("ies", "y"),
)  # fmt: skip

Files = Path | zipfile.Path


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

    def setup(self, device: Device) -> None:
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


class Nouns:
    """The first synset of every noun, read from `index.noun` and `noun.exc` (wndb(5WN)).

    Not nltk's reader: it refuses folders outside its own data path, and it needs files (lexnames, index.sense) that
    Debian's package lacks. With both worked around it takes 2.9 s and 64 MB for all parts of speech, this 0.4 s and
    20 MB for the nouns. A test compares the two.

    `offsets` holds the offset of every noun synset.
    """

    def __init__(self, files: Files) -> None:
        self._first: dict[str, int] = {}
        self.offsets: set[int] = set()
        for fields in _lines(files / INDEX):
            try:
                senses = [int(offset) for offset in fields[-int(fields[2]) :]]
            except (ValueError, IndexError):
                raise UserError(f"{files / INDEX} must be a WordNet index; {REMEDY}") from None
            self._first[fields[0]] = senses[0]
            self.offsets.update(senses)
        self._exceptions = {fields[0]: fields[1:] for fields in _lines(files / EXCEPTIONS)}

    def first_synset(self, word: str) -> int | None:
        """Return the offset of the first (most frequent) sense of a noun or of its singular; None for other words.

        Without a match the rules are tried again ("womens", "women", "woman"), as in nltk 3.8.1, the baseline's.
        """
        form = word.lower()
        lemmas = [form, *self._exceptions.get(form, [])]
        bases = lemmas if len(lemmas) == 1 else []  # no rule is tried on an irregular plural
        while not (found := [lemma for lemma in lemmas if lemma in self._first]) and bases:
            lemmas = bases = [
                base.removesuffix(ending) + new
                for base in bases
                for ending, new in ENDINGS
                if base.endswith(ending)
            ]
        return self._first[found[0]] if found else None


def find_wordnet(folder: str | None) -> Files:
    """Return `folder`, or nltk's or Debian's with WordNet's files. Raises `UserError` when they are not found."""
    locations: list[Files] = [user_path(folder)] if folder else [*_nltk_locations(), DEBIAN]
    for files in locations:
        if (files / INDEX).is_file() and (files / EXCEPTIONS).is_file():
            return files
    where = (
        f"filter.wordnet={folder} must hold {INDEX} and {EXCEPTIONS}"
        if folder
        else "WordNet is not installed"
    )
    raise UserError(f"{where}; get it by {REMEDY}")


def wordnet_digest(files: Files) -> str:
    """Return the hash of the nouns' files."""
    content = (files / INDEX).read_bytes() + (files / EXCEPTIONS).read_bytes()
    return hash_bytes(content)


def _nltk_locations() -> Iterator[Files]:
    """Yield nltk's locations of WordNet: a folder or archive in each of its data folders, in nltk's order."""
    named = [Path(folder) for folder in os.environ.get("NLTK_DATA", "").split(os.pathsep) if folder]
    own = [Path(sys.prefix, part, "nltk_data") for part in ("", "share", "lib")]
    shared = [
        Path(part, "nltk_data") for part in ("/usr/share", "/usr/local/share", "/usr/lib", "/usr/local/lib")
    ]
    for data in [*named, user_path("~/nltk_data"), *own, *shared]:
        yield data / "corpora" / "wordnet"
        archive = data / "corpora" / "wordnet.zip"
        if zipfile.is_zipfile(archive):
            yield zipfile.Path(archive, "wordnet/")


def _lines(file: Files) -> Iterator[list[str]]:
    """Yield the fields of each line after the licence, whose lines are indented."""
    with file.open("r", encoding="utf-8") as lines:
        for line in lines:
            if line.strip() and not line.startswith(" "):
                yield line.split()
