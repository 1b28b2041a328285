"""Texts with ratings of concreteness: captions and words that people rated, and the demo's captions."""

import csv
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import numpy.typing as npt

from benchmark.core.errors import UserError
from benchmark.core.hashes import hash_file

WORDS, CAPTIONS, DEMO = "words", "captions", "demo"
CAPTION, ANNOTATION = "caption", "concreteness_annotation"  # the columns of the ICC authors' file
WORD, BIGRAM, PART_OF_SPEECH, RATING = "Word", "Bigram", "Dom_Pos", "Conc.M"  # of Brysbaert et al. 2014


@dataclass(frozen=True)
class RatedTexts:
    """n words or captions and their ratings of concreteness, shape (n,), of the benchmark `name` from the file
    `source`.

    There were `total` texts before a sample was drawn.
    """

    name: str
    source: str
    sha256: str
    texts: list[str]
    ratings: npt.NDArray[np.float64]
    total: int

    def sample(self, size: int | None, seed: int) -> "RatedTexts":
        """Return `size` of the texts, drawn without replacement; all of them if there are fewer, or for None.

        The paper rates costly scorers on 150 words and 150 captions (001, appendix A.6).
        """
        if size is None or size >= len(self.texts):
            return self
        rows = np.sort(np.random.default_rng(seed).choice(len(self.texts), size, replace=False))
        return replace(self, texts=[self.texts[row] for row in rows], ratings=self.ratings[rows])


def read_annotations(path: Path, setting: str = "task.annotations") -> RatedTexts:
    """Read annotated captions: a CSV with the columns ``caption`` and ``concreteness_annotation``.

    `setting` names the path in messages. Raises `UserError` when the file or a column is missing, or a rating is not
    a number.
    """
    rows = _rows(setting, path, ",", (CAPTION, ANNOTATION))
    return _rated(CAPTIONS, setting, path, CAPTION, ANNOTATION, list(rows))


def read_word_ratings(path: Path) -> RatedTexts:
    """Read the unigram nouns of Brysbaert et al. 2014: tab separated, ``Bigram`` 0 and ``Dom_Pos`` Noun.

    The published file holds 14,592 of them; the ICC paper (section 3.2) counts 14,562 and does not say which are left
    out. Raises `UserError` when the file or a column is missing, or a rating is not a number.
    """
    rows = _rows("task.ratings", path, "\t", (WORD, BIGRAM, PART_OF_SPEECH, RATING))
    nouns = [row for row in rows if row[1][BIGRAM] == "0" and row[1][PART_OF_SPEECH] == "Noun"]
    return _rated(WORDS, "task.ratings", path, WORD, RATING, nouns)


def _rows(
    setting: str, path: Path, delimiter: str, columns: Sequence[str]
) -> Iterator[tuple[int, Mapping[str, str]]]:
    """Yield each row with its line number; tab separated files are not quoted."""
    if not path.is_file():
        raise UserError(f"{setting}={path} does not exist; give the path of a file of ratings")
    is_csv = delimiter == ","
    try:
        with path.open(encoding="utf-8-sig", newline="") as lines:
            reader = csv.DictReader(
                lines,
                delimiter=delimiter,
                quoting=csv.QUOTE_MINIMAL if is_csv else csv.QUOTE_NONE,
                strict=True,
                restval="",
            )
            missing = [name for name in columns if name not in (reader.fieldnames or ())]
            if missing:
                kind = "comma" if is_csv else "tab"
                raise UserError(
                    f"{setting}={path} must have a column {missing[0]!r} in a {kind} separated header"
                )
            for row in reader:
                yield reader.line_num, row
    except (csv.Error, UnicodeDecodeError) as error:
        raise UserError(f"{setting}={path} must be text with columns: {error}") from None


def _rated(
    name: str,
    setting: str,
    path: Path,
    text: str,
    rating: str,
    rows: Sequence[tuple[int, Mapping[str, str]]],
) -> RatedTexts:
    ratings = np.empty(len(rows))
    for index, (line, row) in enumerate(rows):
        try:
            ratings[index] = float(row[rating])
        except ValueError:
            ratings[index] = np.nan
        if not np.isfinite(ratings[index]):
            reason = f"{rating} must be a number; it is {row[rating][:40]!r}"
            raise UserError(f"{setting}={path}, line {line}: {reason}")
    texts = [row[text] for _, row in rows]
    return RatedTexts(name, path.name, hash_file(path), texts, ratings, len(rows))
