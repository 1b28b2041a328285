"""Scenes: the content of each domain, the positions of things, and disjoint random streams."""

from collections import Counter
from itertools import product

import numpy as np
import pytest

from pairsift.demo.draws import DRAWS
from pairsift.demo.vocabulary import IN_KINDS, NEAR_KINDS, OUT_KINDS, PLACES
from pairsift.demo.world import Scene
from tools.demo_world.draws import generator
from tools.demo_world.scenes import on_display, sample_scene
from tools.demo_world.words import IN_PATTERNS, NEAR_PATTERNS, OUT_PATTERNS


def scenes(domain: str, number: int) -> list[Scene]:
    return [sample_scene(generator("evaluation", i, 0), domain) for i in range(number)]


@pytest.mark.parametrize(
    ("domain", "kinds", "patterns"), [("near", NEAR_KINDS, NEAR_PATTERNS), ("out", OUT_KINDS, OUT_PATTERNS)]
)
def test_only_the_first_thing_is_near_or_out_of_domain(domain, kinds, patterns):
    shown = scenes(domain, 600)
    assert all(s.things[0].kind in kinds or s.things[0].pattern in patterns for s in shown)
    assert {s.things[0].kind for s in shown} >= set(kinds)
    assert {t.kind for s in shown for t in s.things[1:]} <= set(IN_KINDS)
    assert {t.pattern for s in shown for t in s.things[1:]} <= set(IN_PATTERNS)


HOLDS = {
    "left of": lambda a, b: a.x < b.x - 0.08,
    "right of": lambda a, b: a.x > b.x + 0.08,
    "above": lambda a, b: a.y < b.y - 0.1,
    "below": lambda a, b: a.y > b.y + 0.1,
    "on": lambda a, b: a.y + a.radius < b.y + b.radius and abs(a.x - b.x) < b.radius,
    "in": lambda a, b: abs(a.x - b.x) < b.radius and b.y - b.radius < a.y + a.radius < b.y + b.radius,
    "behind": lambda a, b: a.y + a.radius < b.y + b.radius + 1e-6,
    "in front of": lambda a, b: a.y + a.radius > b.y + b.radius - 1e-6,
}


def test_in_domain_scenes_show_in_domain_things_in_their_relations():
    shown = scenes("in", 3000)
    assert {t.kind for s in shown for t in s.things} == set(IN_KINDS)
    assert {t.pattern for s in shown for t in s.things} == set(IN_PATTERNS)
    assert {s.place for s in shown} == set(PLACES)
    assert all((s.relation == "") == (len(s.things) == 1) for s in shown)
    assert not [s for s in shown if s.relation and not HOLDS[s.relation](*s.things[:2])]
    counts = Counter(s.relation for s in shown if s.relation)
    assert set(counts) == set(HOLDS)
    assert min(counts.values()) > 20
    alone = on_display(shown[0])
    assert (len(alone.things), alone.place) == (1, "studio")


def test_no_two_samples_share_a_random_stream():
    streams = [generator(*of) for of in product(DRAWS, (0, 1, 2, 1_000_000), (0, 1, 7))]
    # The stock of near-duplicates has a fourth word, 1: SeedSequence pads with zeros, so it stays apart.
    streams += [np.random.default_rng([0, DRAWS[draw], group, 1]) for draw in DRAWS for group in (0, 1)]
    assert len({stream.integers(1 << 62) for stream in streams}) == len(streams)
