"""What scores are compared with: captions and words that people rated, and the demo's captions."""

import csv
import hashlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import numpy.typing as npt

from benchmark.core.errors import UserError

WORDS, CAPTIONS, DEMO = "words", "captions", "demo"
CAPTION, ANNOTATION = "caption", "concreteness_annotation"  # the columns of the ICC authors' file
WORD, BIGRAM, PART_OF_SPEECH, RATING = "Word", "Bigram", "Dom_Pos", "Conc.M"  # of Brysbaert et al. 2014


@dataclass(frozen=True)
class RatedTexts:
    """n texts and their concreteness, shape (n,).

    `name` says which benchmark, `source` where they came from, `total` how many there were before a sample was drawn.
    """

    name: str
    source: str
    sha256: str
    texts: list[str]
    ratings: npt.NDArray[np.float64]
    total: int

    def sample(self, size: int | None, seed: int) -> "RatedTexts":
        """Return `size` of the texts, drawn without replacement; all of them if there are no more, or for None.

        The paper rates costly scorers on 150 words and 150 captions (001, appendix A.6).
        """
        if size is None or size >= len(self.texts):
            return self
        rows = np.sort(np.random.default_rng(seed).choice(len(self.texts), size, replace=False))
        return replace(self, texts=[self.texts[row] for row in rows], ratings=self.ratings[rows])


def read_annotations(path: Path) -> RatedTexts:
    """Read annotated captions: a CSV with the columns ``caption`` and ``concreteness_annotation``.

    Raises `UserError` when the file or a column is missing, or a rating is no number.
    """
    return _rated(CAPTIONS, path, CAPTION, ANNOTATION, list(_rows(path, (CAPTION, ANNOTATION), ",")))


def read_word_ratings(path: Path) -> RatedTexts:
    """Read the unigram nouns of Brysbaert et al. 2014: tab separated, ``Bigram`` 0 and ``Dom_Pos`` Noun.

    The published file holds 14,592 of them; the ICC paper (section 3.2) counts 14,562 and does not say which are left
    out. Raises `UserError` when the file or a column is missing, or a rating is no number.
    """
    columns = (WORD, BIGRAM, PART_OF_SPEECH, RATING)
    nouns = [r for r in _rows(path, columns, "\t") if r[1][BIGRAM] == "0" and r[1][PART_OF_SPEECH] == "Noun"]
    return _rated(WORDS, path, WORD, RATING, nouns)


def _rows(path: Path, columns: Sequence[str], delimiter: str) -> Iterator[tuple[int, Mapping[str, str]]]:
    """Yield each row with its line number; the ratings are not quoted, so their quotes are characters."""
    if not path.is_file():
        raise UserError(f"{path} is not there; give the path of the ratings' file")
    try:
        with path.open(encoding="utf-8-sig", newline="") as file:
            reader = csv.DictReader(
                file,
                delimiter=delimiter,
                quoting=csv.QUOTE_MINIMAL if delimiter == "," else csv.QUOTE_NONE,
                strict=True,
                restval="",
            )
            missing = [name for name in columns if name not in (reader.fieldnames or ())]
            if missing:
                kind = "comma" if delimiter == "," else "tab"
                raise UserError(f"{path} has no column {missing[0]!r}; a {kind} separated header is expected")
            for row in reader:
                yield reader.line_num, row
    except (csv.Error, UnicodeDecodeError) as error:
        raise UserError(f"{path} cannot be read as text with columns: {error}") from None


def _rated(
    name: str, path: Path, text: str, rating: str, rows: Sequence[tuple[int, Mapping[str, str]]]
) -> RatedTexts:
    ratings = np.empty(len(rows))
    for place, (line, row) in enumerate(rows):
        try:
            ratings[place] = float(row[rating])
        except ValueError:
            ratings[place] = np.nan
        if not np.isfinite(ratings[place]):
            raise UserError(f"{path}, line {line}: {rating} is {row[rating][:40]!r}, not a number")
    digest = hashlib.sha256(path.read_bytes()).hexdigest()
    return RatedTexts(name, path.name, digest, [row[text] for _, row in rows], ratings, len(rows))
