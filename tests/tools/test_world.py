"""Scenes: the content of each domain, the positions of things, and disjoint random streams."""

from collections import Counter

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


def test_in_domain_scenes_show_in_domain_kinds_only():
    shown = scenes("in", 3000)
    assert {t.kind for s in shown for t in s.things} == set(IN_KINDS)
    assert {t.pattern for s in shown for t in s.things} == set(IN_PATTERNS)
    assert {s.place for s in shown} == set(PLACES)


@pytest.mark.parametrize(
    ("domain", "kinds", "patterns"),
    [("near", NEAR_KINDS, NEAR_PATTERNS), ("out", OUT_KINDS, OUT_PATTERNS)],
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


def test_relations_hold_between_the_first_two_things():
    shown = scenes("in", 3000)
    assert all((s.relation == "") == (len(s.things) == 1) for s in shown)
    assert not [s for s in shown if s.relation and not HOLDS[s.relation](*s.things[:2])]
    counts = Counter(s.relation for s in shown if s.relation)
    assert set(counts) == set(HOLDS)
    assert min(counts.values()) > 20


def test_a_thing_on_display_is_alone():
    shown = on_display(scenes("in", 1)[0])
    assert len(shown.things) == 1
    assert shown.place == "studio"


def test_no_two_samples_share_a_random_stream():
    first = {
        (draw, index, seed): generator(draw, index, seed).integers(1 << 62)
        for draw in DRAWS
        for index in (0, 1, 2, 1_000_000)
        for seed in (0, 1, 7)
    }
    # The stock of near-duplicates has a fourth word, 1: SeedSequence pads with zeros, so it stays apart.
    stock = {
        (draw, g): np.random.default_rng([0, DRAWS[draw], g, 1]).integers(1 << 62)
        for draw in DRAWS
        for g in (0, 1)
    }
    values = [*first.values(), *stock.values()]
    assert len(set(values)) == len(values)
