"""The planted noise: drafts, consistency of names, out-of-domain words, and near-duplicates."""

from collections import defaultdict
from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest

from pairsift.demo.vocabulary import OUT_KINDS
from tools.demo_world.draws import generator, sample_draft, sample_pair
from tools.demo_world.language.descriptions import visible_words
from tools.demo_world.language.descriptions.vocabulary_forms import NOUNS
from tools.demo_world.mix import CLEAN, NEAR_DUPLICATE, Mix, pool_mix
from tools.demo_world.noise import Draft, draft_pair
from tools.demo_world.words import OUT_PATTERNS

NUMBER = 3000


@pytest.fixture(scope="module")
def drafts() -> list[Draft]:
    return [sample_draft("pool", i, 0, pool_mix()) for i in range(NUMBER)]


def test_a_draft_is_its_pair_without_the_image(drafts):
    for index in range(60):
        pair = sample_pair("pool", index, 0, pool_mix(), 64)
        assert pair.image.shape == (64, 64, 3)
        assert vars(drafts[index]) == {name: value for name, value in vars(pair).items() if name != "image"}
        clean = sample_draft("llm", index, 0, CLEAN)
        assert (clean.kind, clean.grade, clean.text) == ("concrete", 3, "")


@pytest.mark.parametrize("consistency", [0.0, 0.5, 1.0])
def test_consistency_decides_whether_a_name_keeps_its_look(consistency):
    mix = replace(pool_mix(), kinds={"person": 1.0}, consistency=consistency)
    same: defaultdict[str, list[tuple[str, str]]] = defaultdict(list)
    for index in range(1500):
        rng = generator("pool", index, 0)
        drawn = draft_pair(rng, mix)
        if drawn.scene:
            thing = drawn.scene.things[0]
            same[" ".join(drawn.caption.split()[:2])].append((thing.kind, thing.colour))
    pairs = [looks for looks in same.values() if len(looks) > 1]
    agreement = np.mean([a == b for looks in pairs for a, b in pairwise(looks)])
    assert abs(agreement - consistency**2) < 0.2


def test_no_pair_shows_or_names_out_of_domain_things(drafts):
    nouns = {word for kind in OUT_KINDS for noun in NOUNS[kind] for word in (noun.singular, noun.plural)}
    banned = nouns | {word for pattern in OUT_PATTERNS for word in visible_words.PATTERNS[pattern].split()}
    for d in drafts:
        assert not banned & set(d.caption.lower().replace("-", " ").split()), d.caption
        for thing in d.scene.things if d.scene else ():
            assert thing.kind not in OUT_KINDS
            assert thing.pattern not in OUT_PATTERNS


def test_near_duplicates_of_a_group_are_alike_but_not_equal():
    copies = Mix({NEAR_DUPLICATE: 1.0, "concrete": 1e-9}, {"none": 1.0}, 0.5)
    groups = defaultdict(list)
    for index in range(300):
        drawn = sample_pair("pool", index, 0, copies, 64)
        assert drawn.group
        groups[drawn.group].append(drawn)
    several = [g for g in groups.values() if len(g) > 1]
    assert len(several) > 20
    inside, across = [], []
    for a, b in pairwise(several):
        inside.append(np.abs(a[0].image.astype(int) - a[1].image).mean())
        across.append(np.abs(a[0].image.astype(int) - b[0].image).mean())
        assert a[0].image.tobytes() != a[1].image.tobytes()
        assert a[0].grade == a[1].grade
    assert np.median(inside) < 0.4 * np.median(across)
