"""Rendered images: every kind, colour, pattern and action is visible, and text fits."""

import numpy as np
import pytest

from pairsift.demo.backgrounds import PAINTERS, backgrounds
from pairsift.demo.render import SPRITES, render
from pairsift.demo.sprites import PAINTS
from pairsift.demo.text_rendering import overlay_text, render_text
from pairsift.demo.vocabulary import COLOURS, KINDS, PLACES
from pairsift.demo.world import Scene, Thing
from tools.demo_world.scenes import sample_scene
from tools.demo_world.words import PATTERN_WORDS

POSTURES = {"sitting", "sleeping", "leaning"}  # shown by the thing itself, not by lines around it


def alone(**traits) -> Scene:
    thing = Thing("ball", "red", "large", "plain", 1, "", x=0.5, y=0.5, radius=0.25)
    return Scene((thing._replace(**traits),), "", "studio")


def picture(scene: Scene, size: int = 64) -> np.ndarray:
    return render(scene, np.random.default_rng(0), size).astype(int)


def changed(a: np.ndarray, b: np.ndarray) -> float:
    """The fraction of pixels that differ clearly."""
    return float((np.abs(a - b).max(axis=2) > 40).mean())


def test_an_image_has_its_size_and_colours_and_repeats_for_equal_seeds():
    scene = sample_scene(np.random.default_rng(3))
    image = render(scene, np.random.default_rng(1))
    assert image.shape == (128, 128, 3)
    assert image.dtype == np.uint8
    assert np.array_equal(image, render(scene, np.random.default_rng(1)))
    assert render(scene, np.random.default_rng(1), 64).shape == (64, 64, 3)
    red = picture(alone())[36:44, 28:36].mean(axis=(0, 1))
    assert red[0] > 2 * red[2]  # RGB, not BGR


COLOURS_AND_PATTERNS = [{"colour": c} for c in COLOURS] + [
    {"pattern": p} for p in PATTERN_WORDS if p != "plain"
]


@pytest.mark.parametrize(
    ("traits", "least"), [([{"kind": k} for k in KINDS], 0.02), (COLOURS_AND_PATTERNS, 0.01)]
)
def test_every_two_look_different(traits, least):
    pictures = [picture(alone(**of)) for of in traits]
    for i, a in enumerate(pictures):
        assert all(changed(a, b) > least for b in pictures[i + 1 :]), traits[i]


def test_every_action_shows():
    for kind, action in [(kind, action) for kind, traits in KINDS.items() for action in traits.actions]:
        difference = changed(picture(alone(kind=kind, action=action)), picture(alone(kind=kind)))
        assert difference > (0.01 if action in POSTURES else 0.015), (kind, action)


def test_counts_show():
    pictures = [picture(alone(count=n, radius=0.15)) for n in (1, 2, 3, 4)]
    red = [int(((p[..., 0] > 150) & (p[..., 1] < 90)).sum()) for p in pictures]
    assert red == sorted(red)
    assert red[3] > 3 * red[0]


def test_every_place_has_several_backgrounds_that_stay_as_they_are():
    assert set(PAINTERS) == {*PLACES, "studio"}
    before = {place: [v.tobytes() for v in variants] for place, variants in backgrounds(128).items()}
    assert all(len(set(before[place])) == len(before[place]) > 1 for place in PLACES)
    for i in range(10):
        render(sample_scene(np.random.default_rng(i)), np.random.default_rng(i))
    assert before == {place: [v.tobytes() for v in variants] for place, variants in backgrounds(128).items()}


def test_sprites_stay_in_their_box_and_use_known_paints():
    for name, parts in SPRITES.items():
        points = np.concatenate([part.points for part in parts])
        assert np.abs(points).max() < 1.3, name
        assert {part.paint for part in parts} <= {*PAINTS, "main", "dark", "light"}, name
        assert any(part.paint == "main" for part in parts), name


def test_text_on_plain_ground_has_two_colours_and_fits():
    for i in range(10):
        image = render_text(["KEEP", "CALM", "AND", "EXPLORE", "ON"], np.random.default_rng(i))
        corner = image[0, 0].astype(int)
        rim = np.concatenate([image[0], image[-1], image[:, 0], image[:, -1]])
        assert (rim == image[0, 0]).all()  # nothing is cut off
        assert (np.abs(image.astype(int) - corner).max(axis=2) > 90).mean() > 0.04


def test_text_over_a_scene_leaves_most_of_it():
    for i in range(10):
        scene = render(sample_scene(np.random.default_rng(i)), np.random.default_rng(i))
        before = scene.copy()
        image = overlay_text(scene, ["SUMMER", "SALE"], np.random.default_rng(i))
        assert np.array_equal(scene, before)
        rows = np.flatnonzero((image != scene).any(axis=(1, 2)))
        assert len(rows) >= 15
        assert rows[-1] - rows[0] < 70
