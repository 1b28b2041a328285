"""Singulars of nouns, by hand and against the lemmas of UD English EWT."""

from pathlib import Path

import numpy as np
import pytest

from filters.text.ngrams import singular


def test_plurals_become_singular() -> None:
    plurals = (
        "thirds colors boxes churches glasses cities ties movies potatoes horseshoes houses roses campuses"
    )
    expected = "third color box church glass city tie movie potato horseshoe house rose campus"
    assert [singular(plural) for plural in plurals.split()] == expected.split()
    plurals, expected = (
        "leaves gloves women policemen children t-shirts",
        "leaf glove woman policeman child t-shirt",
    )
    assert [singular(plural) for plural in plurals.split()] == expected.split()


def test_singulars_stay_as_they_are() -> None:
    nouns = "focus lens canvas glass tennis news series bus gas people water 1990s"
    assert [singular(noun) for noun in nouns.split()] == nouns.split()


def test_singulars_are_the_lemmas_of_real_text(shared_data: Path) -> None:
    path = shared_data / "ud_english_ewt" / "en_ewt-ud-dev.conllu"
    if not path.exists():
        pytest.skip("needs ud_english_ewt")
    rows = [line.split("\t") for line in path.read_text(encoding="utf-8").splitlines()]
    nouns = [(row[1].lower(), row[2].lower()) for row in rows if len(row) > 3 and row[3] == "NOUN"]
    assert len(nouns) == 4210
    assert np.mean([word == lemma for word, lemma in nouns]) < 0.79
    assert np.mean([singular(word) == lemma for word, lemma in nouns]) > 0.98
