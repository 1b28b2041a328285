from collections import Counter

import numpy as np
import pytest

from pairsift.demo.vocabulary import COLOURS, IN_KINDS, OUT_KINDS, PLACES
from tools.demo_world.language.titles.names import (
    CATEGORIES,
    NAME_CATEGORIES,
    Name,
    name_of_rank,
    sample_name,
)
from tools.demo_world.words import OUT_PATTERNS


def names(category: str, number: int = 1_000) -> list[Name]:
    rng = np.random.default_rng(0)
    return [sample_name(category, rng) for _ in range(number)]


@pytest.mark.parametrize("category", CATEGORIES)
def test_a_rank_always_gives_the_same_name(category: str) -> None:
    first = [name_of_rank(category, rank) for rank in range(50)]
    name_of_rank.cache_clear()
    assert [name_of_rank(category, rank) for rank in range(50)] == first


@pytest.mark.parametrize("category", CATEGORIES)
def test_about_half_of_1000_names_occur_once(category: str) -> None:
    counts = Counter(name.words for name in names(category))
    assert 420 < sum(count == 1 for count in counts.values()) < 620
    assert 10 < counts.most_common(1)[0][1] < 50


@pytest.mark.parametrize("category", CATEGORIES)
def test_looks_are_of_the_world_and_fixed(category: str) -> None:
    looks: dict[tuple[str, ...], set[object]] = {}
    for name in names(category):
        looks.setdefault(name.words, set()).add(name.look)
        assert name.look.kind in {"", *IN_KINDS}
        assert name.look.colour in {"", *COLOURS}
        assert name.look.place in {"", *PLACES}
    assert all(len(different) == 1 for different in looks.values())


def test_looks_of_a_category_set_its_own_fields() -> None:
    fields = {"person": "kc", "place": "p", "brand": "k", "model": "kc", "event": "kp"}
    for category, letters in fields.items():
        look = name_of_rank(category, 7).look
        assert [bool(look.kind), bool(look.colour), bool(look.place)] == [c in letters for c in "kcp"]


def test_names_are_never_words_of_the_held_out_domain() -> None:
    words = {word.lower() for c in CATEGORIES for name in names(c) for word in name.words}
    assert words.isdisjoint({*OUT_KINDS, *OUT_PATTERNS})


def test_each_kind_of_caption_draws_a_known_category() -> None:
    assert all(set(categories) <= set(CATEGORIES) for categories in NAME_CATEGORIES.values())
