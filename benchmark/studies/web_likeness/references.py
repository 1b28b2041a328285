"""Statistics of real captions, measured once: their captions are not part of this repository.

LAION: 10,000 alt texts of LAION-400M; CC3M: the validation captions; COCO: 24,577 captions. The graded captions are
the 500 of LAION-400M that ICC's authors graded from 0, abstract, to 3, concrete.
"""

from dataclasses import dataclass

from benchmark.studies.web_likeness.statistics import Likeness

LAION = Likeness(
    captions=10_000,
    words=35_002,
    word_types=11_910,
    heaps_exponent=0.74,
    distinct_bigrams=0.90,
    distinct_trigrams=0.98,
    trigram_perplexity=3_440,
    unseen_words=0.267,
    bits_per_caption=211,
    bits_per_character=3.63,
    exact_repeats=0.001,
    near_copies=0.004,
    words_per_caption=9.2,
    digit_words=0.076,
    rated_words=0.73,
    other_words=0.197,
    web_strings=0.018,
)
CC3M = Likeness(
    captions=15_833,
    words=35_003,
    word_types=5_432,
    heaps_exponent=0.60,
    distinct_bigrams=0.64,
    distinct_trigrams=0.89,
    trigram_perplexity=378,
    unseen_words=0.095,
    bits_per_caption=124,
    bits_per_character=2.22,
    exact_repeats=0.011,
    near_copies=0.058,
    words_per_caption=10.4,
    digit_words=0.003,
    rated_words=0.98,
    other_words=0.017,
    web_strings=0.0,
)
COCO = Likeness(
    captions=24_577,
    words=35_010,
    word_types=2_892,
    heaps_exponent=0.52,
    distinct_bigrams=0.39,
    distinct_trigrams=0.70,
    trigram_perplexity=69,
    unseen_words=0.042,
    bits_per_caption=95,
    bits_per_character=1.75,
    exact_repeats=0.0,
    near_copies=0.144,
    words_per_caption=10.5,
    digit_words=0.0,
    rated_words=0.99,
    other_words=0.011,
    web_strings=0.0,
)
REFERENCES = {"LAION": LAION, "CC3M": CC3M, "COCO": COCO}


@dataclass(frozen=True)
class GradedReference:
    """Statistics of the 500 graded captions; correlations are Pearson's, with the grades.

    Args:
        sba_cc3m: of the untrained SBA that searches neighbours in CC3M, as it is and standardised by length.
        sba_laion: the same in LAION.
        predictability: of minus the bits per character, under a model of 6,000 captions of LAION.
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
