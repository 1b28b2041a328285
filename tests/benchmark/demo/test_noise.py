"""The planted noise: its shares, the properties of each kind, and the published figures that it reproduces."""

import hashlib
from collections import defaultdict
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
from omegaconf import OmegaConf

from benchmark.demo.concreteness import concreteness
from benchmark.demo.draws import sample_pair
from benchmark.demo.noise import KINDS, Pair
from benchmark.demo.settings import GENERATOR_VERSION
from benchmark.demo.vocabulary import NEAR_KINDS, NEAR_PATTERNS, OUT_KINDS, OUT_PATTERNS, PATTERN_WORDS

CONF = Path(__file__).resolve().parents[3] / "conf" / "pool" / "demo.yaml"
NUMBER = 4000


@pytest.fixture(scope="module")
def shares() -> dict[str, float]:
    noise = OmegaConf.load(CONF).pool.demo.noise
    return {kind: float(entry.share) for kind, entry in noise.items()}


@pytest.fixture(scope="module")
def pairs(shares) -> list[Pair]:
    return [sample_pair("pool", i, 0, shares, size=64) for i in range(NUMBER)]


@pytest.fixture(scope="module")
def by_kind(pairs) -> dict[str, list[Pair]]:
    kinds: defaultdict[str, list[Pair]] = defaultdict(list)
    for drawn in pairs:
        kinds[drawn.kind].append(drawn)
    return dict(kinds)


def test_shares_follow_the_config(shares, by_kind):
    assert set(shares) == set(KINDS) == set(by_kind)
    assert sum(shares.values()) == pytest.approx(1)
    for kind, share in shares.items():
        spread = 4 * np.sqrt(share * (1 - share) / NUMBER)
        assert abs(len(by_kind[kind]) / NUMBER - share) < spread, kind


def test_the_generator_version_is_raised_when_the_world_changes(pairs):
    """Pictures depend on the versions of OpenCV and Pillow; scenes and captions must not."""
    content = repr([(p.kind, p.caption, p.text, p.group, p.concreteness, p.scene) for p in pairs[:500]])
    digest = hashlib.sha256(content.encode()).hexdigest()[:16]
    assert (GENERATOR_VERSION, digest) == (2, "9a86cd8c3b01d1bd"), (
        "raise GENERATOR_VERSION and write both here"
    )


def test_every_share_names_the_figure_it_follows():
    assert all(len(entry.follows) > 5 for entry in OmegaConf.load(CONF).pool.demo.noise.values())


def overlap(caption: str, text: str) -> float:
    """CoTR of Lin et al. 2023, Algorithm 1, on what is really written."""
    said = set(caption.split())
    return len(said & set(text.split())) / len(said)


def test_text_in_images_is_as_frequent_as_in_laion(pairs, by_kind):
    # Lin et al. 2023, Table 1: 54.60% of images with text; 15.42% of caption words in the image, 30.46% fuzzily.
    assert np.mean([bool(p.text) for p in pairs]) == pytest.approx(0.546, abs=0.03)
    assert np.mean([overlap(p.caption, p.text) for p in pairs]) == pytest.approx(0.154, abs=0.03)
    assert 0.154 < np.mean([overlap(p.caption.lower(), p.text.lower()) for p in pairs]) < 0.35
    # Maini et al. 2023: nearly 40% of images hold text that overlaps with the caption.
    echoed = [overlap(p.caption.lower(), p.text.lower()) > 0 for p in pairs]
    assert np.mean(echoed) == pytest.approx(0.4, abs=0.03)
    assert all(overlap(p.caption.lower(), p.text.lower()) > 0 for p in by_kind["parrot"])


def test_concreteness_rises_from_abstract_to_concrete(pairs, by_kind):
    mean = {kind: np.mean([p.concreteness for p in drawn]) for kind, drawn in by_kind.items()}
    assert mean["abstract"] < mean["news"] < mean["product"] < mean["concrete"]
    assert mean["abstract"] < mean["parrot"] < mean["concrete"]
    assert mean["mismatched"] == pytest.approx(mean["concrete"], abs=0.02)  # it is of the text alone
    assert min(p.concreteness for p in by_kind["concrete"]) > 0.6
    for p in pairs:
        assert 0 <= p.concreteness <= 1
        assert p.concreteness == concreteness(p.caption)


def test_no_pair_shows_or_names_out_of_domain_things(pairs):
    banned = {word for k in OUT_KINDS.values() for noun in k.nouns for word in noun}
    banned |= {word for p in OUT_PATTERNS for word in PATTERN_WORDS[p]}
    for p in pairs:
        assert not banned & set(p.caption.lower().replace("-", " ").split()), p.caption
        for thing in p.scene.things if p.scene else ():
            assert thing.kind not in OUT_KINDS
            assert thing.pattern not in OUT_PATTERNS


def test_near_domain_scenes_are_rare(pairs):
    scenes = [p.scene for p in pairs if p.scene]
    near = [s.things[0].kind in NEAR_KINDS or s.things[0].pattern in NEAR_PATTERNS for s in scenes]
    assert 0.01 < np.mean(near) < 0.06


def test_near_duplicates_of_a_group_are_alike_but_not_equal(by_kind):
    groups: defaultdict[str, list[Pair]] = defaultdict(list)
    for drawn in by_kind["near_duplicate"]:
        assert drawn.group
        groups[drawn.group].append(drawn)
    several = [g for g in groups.values() if len(g) > 1]
    assert len(several) > 100
    inside, across = [], []
    for a, b in pairwise(several):
        inside.append(np.abs(a[0].image.astype(int) - a[1].image).mean())
        across.append(np.abs(a[0].image.astype(int) - b[0].image).mean())
        assert a[0].image.tobytes() != a[1].image.tobytes()
    assert np.median(inside) < 0.4 * np.median(across)
    assert not any(p.group for kind in ("concrete", "parrot", "news") for p in by_kind[kind])


def test_captions_of_each_kind_have_its_length_and_variety(by_kind):
    assert np.mean([len(p.caption.split()) for p in by_kind["news"]]) > 14
    assert np.mean([len(p.caption.split()) for p in by_kind["abstract"]]) < 10
    for kind in KINDS:
        captions = [p.caption for p in by_kind[kind]]
        assert all(c and c == c.strip() and "{" not in c and "  " not in c for c in captions), kind
        assert len(set(captions)) > 0.8 * len(captions), kind
