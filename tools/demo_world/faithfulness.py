"""Checks that the demo's captions are like the web's: each statistic, its real value and the accepted range."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from pairsift.studies.profile.web_likeness.statistics import measure_likeness, random_order
from pairsift.studies.profile.web_likeness.tables import (
    LAION,
    Format,
    count,
    one_decimal,
    percent,
    two_decimals,
)
from tools.demo_world.graded_likeness import (
    GRADED,
    GRADED_TRAINING,
    bits_per_character,
    mean_by_grade,
    pearson,
    sba_correlations,
)
from tools.demo_world.written_text import WrittenText

MAX_GRADE = 3  # grade of captions that describe the image


@dataclass(frozen=True)
class GradedCaptions:
    """n captions of a pool with their grades and concreteness.

    Args:
        captions: captions of the pool's mix.
        grades: grades from 0 (abstract) to 3 (describes the image), shape (n,).
        concreteness: a finer measure, used for the correlations; shape (n,).
        describing: fraction of the pool's pairs with a caption that describes the image.
        cc3m_like: captions of a CC3M-like mix, the neighbours of the first untrained SBA.
    """

    captions: Sequence[str]
    grades: Sequence[int]
    concreteness: Sequence[float]
    describing: float
    cc3m_like: Sequence[str]


@dataclass(frozen=True)
class Row:
    """A statistic: its label, the real value as printed, the accepted range (inclusive), and its format."""

    label: str
    real: str
    low: float
    high: float
    form: Format = two_decimals

    @property
    def accepted(self) -> str:
        """The range in words."""
        if math.isinf(self.high):
            return f"at least {self.form(self.low)}"
        if math.isinf(self.low):
            return f"at most {self.form(self.high)}"
        return f"{self.form(self.low)} to {self.form(self.high)}"

    def accepts(self, value: float) -> bool:
        """Return whether a value is in the range; never for NaN."""
        return self.low <= value <= self.high


@dataclass(frozen=True)
class GradedReference:
    """Statistics of the 500 captions of LAION-400M that ICC's authors graded from 0 (abstract) to 3 (concrete).

    Correlations are Pearson's correlations with the grades.

    Args:
        sba_cc3m: correlations of the untrained SBA with neighbours from CC3M, raw and standardised by length.
        sba_laion: the same with neighbours from LAION.
        predictability: correlation of minus the bits per character under a model of 6,000 captions of LAION.
        bits_per_character: mean for each grade.
        words_per_caption: mean for each grade.
    """

    sba_cc3m: tuple[float, float]
    sba_laion: tuple[float, float]
    predictability: float
    bits_per_character: dict[int, float]
    words_per_caption: dict[int, float]


GRADED_CAPTIONS = GradedReference(
    sba_cc3m=(0.47, 0.36),
    sba_laion=(0.32, 0.22),
    predictability=0.44,
    bits_per_character={0: 3.63, 1: 3.17, 2: 2.96, 3: 2.57},
    words_per_caption={0: 15.8, 1: 13.1, 2: 9.4, 3: 8.2},
)
_INFINITE = math.inf
_LENGTHS = GRADED_CAPTIONS.words_per_caption


def _bits_row(grade: int, real: float) -> Row:
    return Row(f"Bits per character, grade {grade} over 3", f"{real:.2f}", real - 0.25, real + 0.25)


ROWS = {
    "sba_cc3m": Row(
        "Untrained SBA, neighbours CC3M-like, r standardised",
        two_decimals(GRADED_CAPTIONS.sba_cc3m[1]),
        0.2,
        0.5,
    ),
    "sba_pool": Row(
        "Untrained SBA, neighbours of the pool, r standardised",
        two_decimals(GRADED_CAPTIONS.sba_laion[1]),
        0.1,
        0.45,
    ),
    "predictability": Row(
        "Minus bits per character against concreteness, r",
        two_decimals(GRADED_CAPTIONS.predictability),
        0.25,
        0.6,
    ),
    "bits_grade_0": _bits_row(0, 1.42),
    "bits_grade_1": _bits_row(1, 1.24),
    "bits_grade_2": _bits_row(2, 1.17),
    "word_types": Row("Distinct words in 35,000", count(LAION.word_types), 6_000, _INFINITE, count),
    "heaps_exponent": Row("Heaps exponent", two_decimals(LAION.heaps_exponent), 0.6, 0.8),
    "bits_per_caption": Row("Bits per caption", count(LAION.bits_per_caption), 110, _INFINITE, count),
    "exact_repeats": Row("Exact repeats in 4,000", percent(LAION.exact_repeats), -_INFINITE, 0.03, percent),
    "near_copies": Row("Near copies in 4,000", percent(LAION.near_copies), -_INFINITE, 0.15, percent),
    "digit_words": Row("Words with digits", "7%", 0.04, 0.10, percent),
    "other_words": Row("Other words without a rating", "20%", 0.15, 0.25, percent),
    "words_per_caption": Row(
        "Words per caption", one_decimal(LAION.words_per_caption), 7.7, 10.7, one_decimal
    ),
    "words_ratio": Row("Words, grade 0 over grade 3", one_decimal(_LENGTHS[0] / _LENGTHS[3]), 1.3, _INFINITE),
    "images_with_text": Row("Images with text", "55%", 0.52, 0.58, percent),
    "exact_cotr": Row("Exact CoTR, images with text", "28%", 0.24, 0.32, percent),
    "cotr_above_zero": Row("CoTR above 0, images with text", "90%", 0.80, _INFINITE, percent),
    "describes": Row("Captions that describe what is seen", "5 to 10%", 0.05, 0.10, percent),
}
OF_IMAGES = ("images_with_text", "exact_cotr", "cotr_above_zero")


def measure_captions(world: GradedCaptions, rated: frozenset[str] | None) -> dict[str, float]:
    """Return the statistics of `ROWS` that need no images.

    `rated` are the words with a concreteness rating; without them the fraction of other words is left out.
    """
    likeness = measure_likeness(world.captions, rated)
    names = (
        "word_types", "heaps_exponent", "bits_per_caption", "exact_repeats", "near_copies", "digit_words",
        "other_words", "words_per_caption",
    )  # fmt: skip
    grades = np.array(world.grades, np.float64)
    lengths = mean_by_grade(np.array([len(text.split()) for text in world.captions], np.float64), grades)
    return {
        **{name: float(getattr(likeness, name)) for name in names if getattr(likeness, name) is not None},
        **_measure_grades(world),
        "words_ratio": lengths[0] / lengths[MAX_GRADE],
        "describes": world.describing,
    }


def _measure_grades(world: GradedCaptions) -> dict[str, float]:
    """Return the statistics of 3,000 captions. Their neighbours and character model come from the other captions."""
    order = random_order(len(world.captions))
    texts = [world.captions[row] for row in order]
    grades = np.array([float(world.grades[row]) for row in order[:GRADED]])
    concreteness = np.array([float(world.concreteness[row]) for row in order[:GRADED]])
    judged, others = texts[:GRADED], texts[GRADED:]
    bits = bits_per_character(judged, others[:GRADED_TRAINING])
    by_grade = mean_by_grade(bits, grades)
    return {
        "sba_cc3m": sba_correlations(judged, concreteness, world.cc3m_like)[1],
        "sba_pool": sba_correlations(judged, concreteness, others)[1],
        "predictability": pearson(-bits, concreteness),
        **{f"bits_grade_{grade}": by_grade[grade] / by_grade[MAX_GRADE] for grade in range(MAX_GRADE)},
    }


def written_text_values(rates: WrittenText) -> dict[str, float]:
    """Return the statistics of `ROWS` about the text in images."""
    return dict(zip(OF_IMAGES, (rates.images_with_text, rates.exact, rates.above_zero), strict=True))


def misses(measured: Mapping[str, float]) -> list[str]:
    """Return a sentence for each measured statistic that is out of its range."""
    return [
        f"{ROWS[name].label}: {ROWS[name].form(value)}, accepted {ROWS[name].accepted}"
        for name, value in measured.items()
        if not ROWS[name].accepts(value)
    ]
