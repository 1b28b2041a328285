"""The demo's captions beside the web's: the faithfulness table, row by row."""

from functools import cache
from pathlib import Path

import pytest

from benchmark.demo.draws import sample_pair
from benchmark.demo.noise import Pair
from benchmark.demo.training.data import pool_shares
from benchmark.studies.web_likeness import faithfulness
from benchmark.studies.web_likeness.faithfulness import (
    OF_IMAGES,
    ROWS,
    GradedCaptions,
    measure_captions,
    misses,
    written_text_values,
)
from benchmark.studies.web_likeness.tokens import read_rated_words
from benchmark.studies.web_likeness.written_text import measure_written_text

# Near-duplicates repeat captions of all kinds; as a whole they are neither concrete nor abstract.
GRADES = {
    "concrete": 3,
    "mismatched": 3,
    "parrot": 2,
    "near_duplicate": 2,
    "product": 1,
    "news": 0,
    "abstract": 0,
}
DESCRIBING = "concrete"
# Not in captions made from CC3M's recipe: only what describes an image or names what is seen.
NOT_CC3M_LIKE = ("near_duplicate", "parrot", "product", "mismatched")


@cache
def pool_pairs(count: int) -> list[Pair]:
    return [sample_pair("pool", index, 0, pool_shares(), size=16) for index in range(count)]


def pool_captions(count: int = 16_000) -> GradedCaptions:
    pairs = pool_pairs(count)
    like_cc3m = {kind: share for kind, share in pool_shares().items() if kind not in NOT_CC3M_LIKE}
    return GradedCaptions(
        captions=[pair.caption for pair in pairs],
        grades=[GRADES[pair.kind] for pair in pairs],
        concreteness=[pair.concreteness for pair in pairs],
        describing=sum(pair.kind == DESCRIBING for pair in pairs) / count,
        cc3m_like=[sample_pair("scorer", index, 0, like_cc3m, size=16).caption for index in range(count)],
    )


@pytest.fixture(scope="module")
def rated(request: pytest.FixtureRequest) -> frozenset[str] | None:
    """The rated words are not part of the repository; one row needs them."""
    try:
        folder: Path = request.getfixturevalue("shared_data")
    except pytest.skip.Exception:
        return None
    return read_rated_words(
        folder / "brysbaert_concreteness" / "Concreteness_ratings_Brysbaert_et_al_BRM.txt"
    )


def written_text(count: int = 16_000) -> dict[str, float]:
    pairs = [(pair.caption, [pair.text] if pair.text else []) for pair in pool_pairs(count)]
    return written_text_values(measure_written_text(pairs))


def test_every_row_of_text_is_measured(monkeypatch: pytest.MonkeyPatch, rated: frozenset[str] | None) -> None:
    monkeypatch.setattr(faithfulness, "GRADED", 300)
    measured = measure_captions(pool_captions(900), rated) | written_text(900)
    assert set(ROWS) - set(measured) <= {"other_words"}
    assert all(value == value for value in measured.values())  # none is NaN
    assert 0 < measured["images_with_text"] < 1
    assert set(OF_IMAGES) <= set(measured)


@pytest.mark.slow
def test_every_row_is_in_its_accepted_range(rated: frozenset[str] | None) -> None:
    measured = measure_captions(pool_captions(), rated) | written_text()
    assert misses(measured) == []
