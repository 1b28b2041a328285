"""Texts with ratings of concreteness: captions and words that people rated, and the demo's captions."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import numpy.typing as npt

from benchmark.core.hashes import hash_file
from pairsift.studies.text_files import COMMAS, UNQUOTED_TABS, TextFile

WORDS, CAPTIONS, DEMO = "words", "captions", "demo"
CAPTION, ANNOTATION = "caption", "concreteness_annotation"  # the columns of the ICC authors' file
WORD, BIGRAM, PART_OF_SPEECH, RATING = "Word", "Bigram", "Dom_Pos", "Conc.M"  # of Brysbaert et al. 2014


@dataclass(frozen=True)
class RatedTexts:
    """n words or captions and their ratings of concreteness, shape (n,)."""

    name: str  # of the benchmark
    source: str  # file
    sha256: str
    texts: list[str]
    ratings: npt.NDArray[np.float64]
    total: int  # texts before a sample was drawn

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
    file = TextFile(setting, path, COMMAS, "strict")
    return _rated(CAPTIONS, file, list(file.rows(CAPTION, ANNOTATION)))


def read_word_ratings(path: Path) -> RatedTexts:
    """Read the unigram nouns of Brysbaert et al. 2014: tab separated, ``Bigram`` 0 and ``Dom_Pos`` Noun.

    The published file holds 14,592 of them; the ICC paper (section 3.2) counts 14,562 and does not say which are left
    out. Raises `UserError` when the file or a column is missing, or a rating is not a number.
    """
    file = TextFile("task.ratings", path, UNQUOTED_TABS, "strict")
    rows = file.rows(WORD, RATING, BIGRAM, PART_OF_SPEECH)
    return _rated(WORDS, file, [(word, rating) for word, rating, *kind in rows if kind == ["0", "Noun"]])


def _rated(name: str, file: TextFile, rows: Sequence[tuple[str, ...]]) -> RatedTexts:
    ratings = np.empty(len(rows))
    for index, (text, rating) in enumerate(rows):
        try:
            ratings[index] = float(rating)
        except ValueError:
            ratings[index] = np.nan
        if not np.isfinite(ratings[index]):
            raise file.error(f"must have a number as the rating of {text[:40]!r}; it has {rating[:40]!r}")
    path = file.path
    return RatedTexts(name, path.name, hash_file(path), [text for text, _ in rows], ratings, len(rows))
