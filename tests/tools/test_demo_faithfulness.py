"""The demo's captions beside the web's: the faithfulness table, row by row."""

from functools import cache
from pathlib import Path

import pytest

from pairsift.studies.profile.web_likeness.tokens import read_rated_words
from tools.demo_world import faithfulness
from tools.demo_world.cut import accepted_indices
from tools.demo_world.draws import sample_draft
from tools.demo_world.faithfulness import (
    OF_IMAGES,
    ROWS,
    GradedCaptions,
    measure_captions,
    misses,
    written_text_values,
)
from tools.demo_world.mix import CONCRETE, drawn_mix
from tools.demo_world.noise import GRADES, Draft
from tools.demo_world.shipped import CUT
from tools.demo_world.written_text import measure_written_text
from tools.scale_models.data import conceptual_captions

TEXT_GRADES = GRADES | {
    "mismatched": 3
}  # of the captions alone: what a mismatched one describes is not in its image


@cache
def pool_drafts(count: int) -> list[Draft]:
    """The first pairs of the shipped pool, whose cut they passed."""
    indices = accepted_indices(CUT, drawn_mix(), 0)[:count]
    return [sample_draft("pool", int(i), 0, drawn_mix()) for i in indices]


def pool_captions(count: int = 16_000) -> GradedCaptions:
    drafts = pool_drafts(count)
    return GradedCaptions(
        captions=[draft.caption for draft in drafts],
        grades=[TEXT_GRADES.get(draft.kind, draft.grade) for draft in drafts],
        concreteness=[draft.concreteness for draft in drafts],
        describing=sum(draft.kind == CONCRETE for draft in drafts) / count,
        cc3m_like=conceptual_captions("scorer", count, 0),
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
    pairs = [(draft.caption, [draft.text] if draft.text else []) for draft in pool_drafts(count)]
    return written_text_values(measure_written_text(pairs))


@pytest.mark.slow
def test_every_row_of_text_is_measured(monkeypatch: pytest.MonkeyPatch, rated: frozenset[str] | None) -> None:
    monkeypatch.setattr(faithfulness, "GRADED", 300)
    measured = measure_captions(pool_captions(900), rated) | written_text(900)
    assert set(ROWS) - set(measured) <= {"other_words"}
    assert all(value == value for value in measured.values())  # none is NaN
    assert 0 < measured["images_with_text"] < 1
    assert set(OF_IMAGES) <= set(measured)


@pytest.mark.full
def test_every_row_is_in_its_accepted_range(rated: frozenset[str] | None) -> None:
    measured = measure_captions(pool_captions(), rated) | written_text()
    assert misses(measured) == []
