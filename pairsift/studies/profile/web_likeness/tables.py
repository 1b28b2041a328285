"""The table "how web-like are these captions": statistics of a list of captions next to those of real ones.

The real captions are not part of this repository. Their statistics were measured once: LAION: 10,000 alt texts of
LAION-400M; CC3M: the validation captions; COCO: 24,577 captions.
"""

from collections.abc import Callable

from benchmark.results.report.table import Table, plain
from pairsift.studies.profile.web_likeness.statistics import WORDS, Likeness

NO_RATINGS = (
    "For the rows of rated and other words add profile.ratings=FILE, the word ratings of Brysbaert et al. 2014 (the"
    " supplement of the paper, Concreteness_ratings_Brysbaert_et_al_BRM.txt)."
)
_EXPLANATION = (
    f"Rows up to bits per character, and the kinds of words, are of {WORDS:,} words in random order, as they"
    " depend on the number. Perplexity, unseen words and bits: of a fifth of the captions under models of the rest."
    " A near copy's words are more than 60% similar (edit distance) to another's. Other words are mostly names."
)

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

Format = Callable[[float], str]
count, one_decimal, two_decimals, percent = (f"{{:{form}}}".format for form in (",.0f", ".1f", ".2f", ".1%"))
ROWS: dict[str, tuple[str, Format]] = {
    "captions": ("Captions", count),
    "word_types": ("Distinct words", count),
    "heaps_exponent": ("Heaps exponent", two_decimals),
    "distinct_bigrams": ("Distinct 2-grams", percent),
    "distinct_trigrams": ("Distinct 3-grams", percent),
    "trigram_perplexity": ("Perplexity of words, trigram model", count),
    "unseen_words": ("Unseen words", percent),
    "bits_per_caption": ("Bits per caption, character 7-gram model", count),
    "bits_per_character": ("Bits per character", two_decimals),
    "exact_repeats": ("Exact repeats in 4,000 captions", percent),
    "near_copies": ("Near copies in 4,000 captions", percent),
    "words_per_caption": ("Words per caption", one_decimal),
    "digit_words": ("Words with digits", percent),
    "rated_words": ("Words with a concreteness rating", percent),
    "other_words": ("Other words", percent),
    "web_strings": ("Captions with a URL or file name", percent),
}


def likeness_table(pool: str, likeness: Likeness) -> Table:
    """Return the statistics of a pool beside those of LAION, CC3M and COCO."""
    columns = {pool: likeness, **REFERENCES}
    rows = []
    for name, (label, form) in ROWS.items():
        if getattr(likeness, name) is None:
            continue
        rows.append(plain(label, *(form(getattr(column, name)) for column in columns.values())))
    notes = [_EXPLANATION]
    if likeness.words < WORDS:
        notes.append(
            f"{pool} has {likeness.words:,} words only: its first rows do not compare with the others."
        )
    if likeness.rated_words is None:
        notes.append(NO_RATINGS)
    return Table("How web-like are these captions", ["", *columns], rows, notes)
