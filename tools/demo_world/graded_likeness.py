"""Statistics of captions with grades of concreteness, to compare with annotated web captions."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from pairsift.studies.profile.web_likeness.statistics import CharacterModel, random_order
from pairsift.studies.profile.web_likeness.tokens import split_words
from tools.demo_world.untrained_sba import standardised_by_length, untrained_sba

Floats = npt.NDArray[np.float64]
GRADED = 3_000  # captions to compare with their grades
GRADED_TRAINING = 6_000  # other captions to train the character model on
LOWEST, HIGHEST = 0.25, 0.9  # quantiles of the grades


@dataclass(frozen=True)
class GradedLikeness:
    """Statistics of captions with grades; a higher grade is more concrete.

    Args:
        sba: Pearson's correlation of the untrained SBA with the grades.
        sba_standardised: the same, standardised among captions with equally many words.
        predictability: Pearson's correlation of minus the bits per character with the grades.
        bits_ratio: mean bits per character of the lowest-graded quarter, divided by the mean of the highest tenth.
    """

    sba: float
    sba_standardised: float
    predictability: float
    bits_ratio: float


def measure_graded(captions: Sequence[str], grades: Sequence[float]) -> GradedLikeness:
    """Return the statistics of captions in any order; `grades` has one grade per caption.

    3,000 captions are judged. The untrained SBA searches neighbours among all other captions, and the character model
    learns from 6,000 of these others.
    """
    order = random_order(len(captions))
    texts, values = [captions[row] for row in order], np.array([float(grades[row]) for row in order])
    judged, judged_grades, others = texts[:GRADED], values[:GRADED], texts[GRADED:]
    sba, standardised = sba_correlations(judged, judged_grades, others)
    bits = bits_per_character(judged, others[:GRADED_TRAINING])
    low, high = np.quantile(values, [LOWEST, HIGHEST])
    return GradedLikeness(
        sba=sba,
        sba_standardised=standardised,
        predictability=pearson(-bits, judged_grades),
        bits_ratio=float(bits[judged_grades <= low].mean() / bits[judged_grades >= high].mean()),
    )


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
