"""Statistics of captions with grades of concreteness, to compare with annotated web captions."""

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from pairsift.studies.profile.web_likeness.statistics import CharacterModel
from pairsift.studies.profile.web_likeness.tokens import split_words
from tools.demo_world.untrained_sba import standardised_by_length, untrained_sba

Floats = npt.NDArray[np.float64]
GRADED = 3_000  # captions to compare with their grades
GRADED_TRAINING = 6_000  # other captions to train the character model on


def sba_correlations(captions: Sequence[str], grades: Floats, others: Sequence[str]) -> tuple[float, float]:
    """Return the correlations of the untrained SBA with n grades: raw, and standardised by length."""
    scores = untrained_sba(captions, others)
    standardised = standardised_by_length(scores, [len(split_words(text)) for text in captions])
    return pearson(scores, grades), pearson(standardised, grades)


def bits_per_character(captions: Sequence[str], others: Sequence[str]) -> Floats:
    """Return the bits per character of n captions under a model of other captions, shape (n,)."""
    model = CharacterModel(others)
    return np.array([model.bits_per_character(text) for text in captions])


def mean_by_grade(values: Floats, grades: Floats) -> dict[int, float]:
    """Return the mean of n values per grade, in the order of the grades."""
    return {int(grade): float(values[grades == grade].mean()) for grade in np.unique(grades)}


def pearson(first: Floats, second: Floats) -> float:
    """Return Pearson's correlation."""
    return float(np.corrcoef(first, second)[0, 1])
