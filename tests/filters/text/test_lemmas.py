"""Singulars of nouns, by hand and against the lemmas of UD English EWT."""

from pathlib import Path

import numpy as np
import pytest

from filters.text.ngrams import singular


@pytest.mark.parametrize(
    ("plural", "expected"),
    [
        ("thirds", "third"), ("colors", "color"), ("boxes", "box"), ("churches", "church"), ("glasses", "glass"),
        ("cities", "city"), ("ties", "tie"), ("movies", "movie"), ("potatoes", "potato"), ("horseshoes", "horseshoe"),
        ("houses", "house"), ("roses", "rose"), ("campuses", "campus"), ("leaves", "leaf"), ("gloves", "glove"),
        ("women", "woman"), ("policemen", "policeman"), ("children", "child"), ("t-shirts", "t-shirt"),
    ],
)  # fmt: skip
def test_plurals_become_singular(plural: str, expected: str) -> None:
    assert singular(plural) == expected


@pytest.mark.parametrize(
    "noun",
    [
        "focus",
        "lens",
        "canvas",
        "glass",
        "tennis",
        "news",
        "series",
        "bus",
        "gas",
        "people",
        "water",
        "1990s",
    ],
)
def test_singulars_stay_as_they_are(noun: str) -> None:
    assert singular(noun) == noun


def test_singulars_are_the_lemmas_of_real_text(shared_data: Path) -> None:
    path = shared_data / "ud_english_ewt" / "en_ewt-ud-dev.conllu"
    if not path.exists():
        pytest.skip("needs ud_english_ewt")
    rows = [line.split("\t") for line in path.read_text(encoding="utf-8").splitlines()]
    nouns = [(row[1].lower(), row[2].lower()) for row in rows if len(row) > 3 and row[3] == "NOUN"]
    assert len(nouns) == 4210
    assert np.mean([word == lemma for word, lemma in nouns]) < 0.79
    assert np.mean([singular(word) == lemma for word, lemma in nouns]) > 0.98
