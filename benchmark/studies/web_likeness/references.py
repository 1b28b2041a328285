"""Statistics of real captions, measured once: their captions are not part of this repository.

LAION: 10,000 alt texts of LAION-400M; CC3M: the validation captions; COCO: 24,577 captions.
"""

from benchmark.studies.web_likeness.statistics import Likeness

_FIGURES: dict[str, tuple[float, float, float]] = {  # of LAION, CC3M, COCO
    "captions": (10_000, 15_833, 24_577),
    "words": (35_002, 35_003, 35_010),
    "word_types": (11_910, 5_432, 2_892),
    "heaps_exponent": (0.74, 0.6, 0.52),
    "distinct_bigrams": (0.9, 0.64, 0.39),
    "distinct_trigrams": (0.98, 0.89, 0.7),
    "trigram_perplexity": (3_440, 378, 69),
    "unseen_words": (0.267, 0.095, 0.042),
    "bits_per_caption": (211, 124, 95),
    "bits_per_character": (3.63, 2.22, 1.75),
    "exact_repeats": (0.001, 0.011, 0.0),
    "near_copies": (0.004, 0.058, 0.144),
    "words_per_caption": (9.2, 10.4, 10.5),
    "digit_words": (0.076, 0.003, 0.0),
    "rated_words": (0.73, 0.98, 0.99),
    "other_words": (0.197, 0.017, 0.011),
    "web_strings": (0.018, 0.0, 0.0),
}
LAION, CC3M, COCO = (
    Likeness(**dict(zip(_FIGURES, column, strict=True))) for column in zip(*_FIGURES.values(), strict=True)
)
REFERENCES = {"LAION": LAION, "CC3M": CC3M, "COCO": COCO}
