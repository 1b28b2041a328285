"""WordNet's nouns, from its own files: the first synset of a word, as in `nltk` and DataComp's baselines."""

import os
import sys
import zipfile
from collections.abc import Iterator
from pathlib import Path

from benchmark.core.errors import UserError
from benchmark.core.hashes import hash_bytes
from benchmark.core.paths import user_path

INDEX, EXCEPTIONS = "index.noun", "noun.exc"
DEBIAN = Path("/usr/share/wordnet")
REMEDY = "python -m nltk.downloader wordnet, or apt install wordnet-base, or filter.wordnet=FOLDER"
# Endings of plurals and what they become, as nltk tries them (morphy(7WN), "Rules of Detachment").
ENDINGS = (
    ("s", ""), ("ses", "s"), ("ves", "f"), ("xes", "x"), ("zes", "z"), ("ches", "ch"), ("shes", "sh"),
    ("men", "man"), ("ies", "y"),
)  # fmt: skip

Files = Path | zipfile.Path


class Nouns:
    """The first synset of every noun, read from `index.noun` and `noun.exc` (wndb(5WN)).

    Not nltk's reader: it refuses folders outside its own data path, and it needs files (lexnames, index.sense) that
    Debian's package lacks. With both worked around it takes 2.9 s and 64 MB for all parts of speech, this 0.4 s and
    20 MB for the nouns. A test compares the two.

    `offsets` are those of all noun synsets.
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
        """Return the offset of the first (most frequent) sense of a noun or of its singular; None for other words."""
        form = word.lower()
        bases = self._exceptions.get(form) or [
            form.removesuffix(ending) + base for ending, base in ENDINGS if form.endswith(ending)
        ]
        return next((self._first[lemma] for lemma in (form, *bases) if lemma in self._first), None)


def find_wordnet(folder: str | None) -> Files:
    """Return the location of WordNet's files: `folder`, or by default nltk's data or Debian's folder.

    Raises `UserError` when they are not found.
    """
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
    for data in [*named, Path.home() / "nltk_data", *own, *shared]:
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
