"""The planted noise: its shares, the properties of each kind, and the published figures that it reproduces."""

from collections import defaultdict
from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest
from omegaconf import OmegaConf

from filters.cotr import co_embedded_rate, fuzzy_rate
from pairsift.demo.vocabulary import NEAR_KINDS, OUT_KINDS
from tools.demo_world import embedded_text
from tools.demo_world.concreteness import concreteness
from tools.demo_world.draws import generator, sample_draft, sample_pair
from tools.demo_world.language.descriptions import visible_words
from tools.demo_world.language.descriptions.vocabulary_forms import NOUNS
from tools.demo_world.language.titles.names import NAME_CATEGORIES
from tools.demo_world.mix import CLEAN, MIX, NEAR_DUPLICATE, Mix, pool_mix
from tools.demo_world.noise import GRADES, KINDS, Draft, draft_pair
from tools.demo_world.words import NEAR_PATTERNS, OUT_PATTERNS

NUMBER = 6000


@pytest.fixture(scope="module")
def drafts() -> list[Draft]:
    return [sample_draft("pool", i, 0, pool_mix()) for i in range(NUMBER)]


@pytest.fixture(scope="module")
def by_kind(drafts) -> dict[str, list[Draft]]:
    kinds: defaultdict[str, list[Draft]] = defaultdict(list)
    for drawn in drafts:
        kinds[drawn.kind].append(drawn)
    return dict(kinds)


def near(count: int, share: float) -> bool:
    return abs(count / NUMBER - share) < 4 * np.sqrt(share * (1 - share) / NUMBER)


def test_shares_follow_the_config(by_kind):
    mix = pool_mix()
    assert set(mix.kinds) == set(KINDS) == set(by_kind)
    assert set(mix.texts) == set(embedded_text.KINDS)
    assert sum(mix.kinds.values()) == pytest.approx(1)
    assert sum(mix.texts.values()) == pytest.approx(1)
    for kind, share in mix.kinds.items():
        assert near(len(by_kind[kind]), share), kind


def test_every_share_names_the_figure_it_follows():
    mix = OmegaConf.load(MIX)
    assert all(len(entry.follows) > 5 for part in (mix.noise, mix.text) for entry in part.values())


def test_a_draft_is_its_pair_without_the_image(drafts):
    for index in range(60):
        pair = sample_pair("pool", index, 0, pool_mix(), 64)
        assert pair.image.shape == (64, 64, 3)
        assert vars(drafts[index]) == {name: value for name, value in vars(pair).items() if name != "image"}


def test_text_in_images_has_the_rates_of_laion(drafts):
    # Lin et al. 2023, Table 1 and section 4.2.
    written = [d for d in drafts if d.text]
    assert near(len(written), 0.546)
    exact = [co_embedded_rate(d.caption, [d.text]) for d in written]
    assert np.mean(exact) == pytest.approx(0.282, abs=0.04)
    assert np.mean([fuzzy_rate(d.caption, [d.text]) for d in written]) == pytest.approx(0.558, abs=0.06)
    assert np.mean(np.array(exact) > 0) >= 0.8


def test_text_lies_over_images_of_every_kind(by_kind):
    for kind, drawn in by_kind.items():
        assert 0.4 < np.mean([bool(d.text) for d in drawn]) < 0.7, kind
        shown = [d.scene is not None for d in drawn]
        assert all(shown) or (kind not in ("concrete", "title", "mismatched") and np.mean(shown) > 0.85), kind


def test_clean_pairs_describe_images_without_text():
    for index in range(50):
        drawn = sample_draft("llm", index, 0, CLEAN)
        assert (drawn.kind, drawn.grade, drawn.text) == ("concrete", 3, "")


def test_concreteness_rises_with_the_grade(by_kind):
    mean = {kind: np.mean([d.concreteness for d in drawn]) for kind, drawn in by_kind.items()}
    for high, low in (
        ("concrete", "title"),
        ("title", "product"),
        ("product", "abstract"),
        ("product", "news"),
    ):
        assert mean[high] > mean[low] + 0.05, (high, low)
    assert mean["mismatched"] == pytest.approx(mean["concrete"], abs=0.03)  # it is of the text alone
    for kind, drawn in by_kind.items():
        for d in drawn:
            assert d.concreteness == concreteness(d.caption)
            assert 0 <= d.concreteness < 1
            assert kind == NEAR_DUPLICATE or d.grade == GRADES[kind]


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


def test_names_belong_to_kinds():
    assert set(NAME_CATEGORIES) < set(KINDS)


def test_no_pair_shows_or_names_out_of_domain_things(drafts):
    nouns = {word for kind in OUT_KINDS for noun in NOUNS[kind] for word in (noun.singular, noun.plural)}
    banned = nouns | {word for pattern in OUT_PATTERNS for word in visible_words.PATTERNS[pattern].split()}
    for d in drafts:
        assert not banned & set(d.caption.lower().replace("-", " ").split()), d.caption
        for thing in d.scene.things if d.scene else ():
            assert thing.kind not in OUT_KINDS
            assert thing.pattern not in OUT_PATTERNS


def test_near_domain_scenes_are_rare(drafts):
    scenes = [d.scene for d in drafts if d.scene]
    rare = [s.things[0].kind in NEAR_KINDS or s.things[0].pattern in NEAR_PATTERNS for s in scenes]
    assert 0.01 < np.mean(rare) < 0.06


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


def test_captions_are_varied_and_cleanly_written(by_kind):
    for kind, drawn in by_kind.items():
        captions = [d.caption for d in drawn]
        assert all(c and c == c.strip() and "{" not in c and "  " not in c for c in captions), kind
        assert len(set(captions)) > 0.95 * len(captions), kind
    assert not any(d.group for kind, drawn in by_kind.items() if kind != NEAR_DUPLICATE for d in drawn)
