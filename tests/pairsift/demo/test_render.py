"""Rendered images: every kind, colour, pattern and action is visible, and text fits."""

import random

import cv2
import numpy as np
import pytest
from PIL import Image, ImageDraw, ImageFont

from pairsift.demo.backgrounds import PAINTERS, backgrounds
from pairsift.demo.letters import line_width, text_coverage
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
    """Share of pixels that differ clearly."""
    return float((np.abs(a - b).max(axis=2) > 40).mean())


def test_an_image_has_its_size_and_repeats_for_equal_seeds():
    scene = sample_scene(np.random.default_rng(3))
    image = render(scene, np.random.default_rng(1))
    assert image.shape == (128, 128, 3)
    assert image.dtype == np.uint8
    assert np.array_equal(image, render(scene, np.random.default_rng(1)))
    assert render(scene, np.random.default_rng(1), 64).shape == (64, 64, 3)


def test_colours_are_rgb_not_bgr():
    middle = picture(alone())[36:44, 28:36].mean(axis=(0, 1))
    assert middle[0] > 2 * middle[2]


def test_every_two_kinds_look_different():
    pictures = {kind: picture(alone(kind=kind)) for kind in KINDS}
    names = list(pictures)
    for i, a in enumerate(names):
        for b in names[i + 1 :]:
            assert changed(pictures[a], pictures[b]) > 0.02, (a, b)


def test_every_colour_and_pattern_shows():
    pictures = [picture(alone(colour=c)) for c in COLOURS]
    pictures += [picture(alone(pattern=p)) for p in PATTERN_WORDS if p != "plain"]
    for i, a in enumerate(pictures):
        assert all(changed(a, b) > 0.01 for b in pictures[i + 1 :])


@pytest.mark.parametrize(("kind", "action"), [(k, a) for k, t in KINDS.items() for a in t.actions])
def test_every_action_shows(kind, action):
    assert changed(picture(alone(kind=kind, action=action)), picture(alone(kind=kind))) > 0.01
    assert (
        action in POSTURES
        or changed(picture(alone(kind=kind, action=action)), picture(alone(kind=kind))) > 0.015
    )


def test_counts_show():
    pictures = [picture(alone(count=n, radius=0.15)) for n in (1, 2, 3, 4)]
    red = [int(((p[..., 0] > 150) & (p[..., 1] < 90)).sum()) for p in pictures]
    assert red == sorted(red)
    assert red[3] > 3 * red[0]


def test_every_place_has_several_backgrounds():
    assert set(PAINTERS) == {*PLACES, "studio"}
    for place in PLACES:
        variants = backgrounds(64)[place]
        assert len({v.tobytes() for v in variants}) == len(variants)


def test_backgrounds_are_not_painted_over():
    before = {place: [v.tobytes() for v in variants] for place, variants in backgrounds(128).items()}
    for i in range(50):
        render(sample_scene(np.random.default_rng(i)), np.random.default_rng(i))
    assert before == {place: [v.tobytes() for v in variants] for place, variants in backgrounds(128).items()}


def test_sprites_stay_in_their_box_and_use_known_paints():
    for name, parts in SPRITES.items():
        points = np.concatenate([part.points for part in parts])
        assert np.abs(points).max() < 1.3, name
        assert {part.paint for part in parts} <= {*PAINTS, "main", "dark", "light"}, name
        assert any(part.paint == "main" for part in parts), name


def test_text_on_plain_ground_has_two_colours_and_fits():
    for i in range(30):
        image = render_text(["KEEP", "CALM", "AND", "EXPLORE", "ON"], np.random.default_rng(i))
        corner = image[0, 0].astype(int)
        rim = np.concatenate([image[0], image[-1], image[:, 0], image[:, -1]])
        assert (rim == image[0, 0]).all()  # nothing is cut off
        assert (np.abs(image.astype(int) - corner).max(axis=2) > 90).mean() > 0.04


def test_text_over_a_scene_leaves_most_of_it():
    for i in range(30):
        scene = render(sample_scene(np.random.default_rng(i)), np.random.default_rng(i))
        before = scene.copy()
        image = overlay_text(scene, ["SUMMER", "SALE"], np.random.default_rng(i))
        assert np.array_equal(scene, before)
        rows = np.flatnonzero((image != scene).any(axis=(1, 2)))
        assert len(rows) >= 15
        assert rows[-1] - rows[0] < 70


def test_letters_are_tall_enough_for_ocr():
    image = render_text(
        ["free", "shipping", "on", "everything", "we", "have", "this", "weekend"], np.random.default_rng(0)
    )
    grey = cv2.cvtColor(image, cv2.COLOR_RGB2GRAY).astype(int)
    ink = np.abs(grey - grey[0, 0]) > 60
    runs = np.diff(np.flatnonzero(np.diff(np.concatenate([[0], ink.any(axis=1).astype(int), [0]]))))[::2]
    assert runs.max() >= 9


@pytest.mark.parametrize(
    "line", ["", "A", "AVATAR: To Type, We VAULT", "naïve Übung – 5\u00d77 cm", "日本 ﬁt"]
)
@pytest.mark.parametrize("height", [10, 17, 30])
def test_a_line_is_as_wide_as_pillow_says(line, height):
    assert line_width(line, height) == ImageFont.load_default(height).getlength(line)


@pytest.mark.parametrize("height", [11, 17, 30])
def test_text_has_the_pixels_that_pillow_draws(height):
    draw = random.Random(height)
    printable = "".join(map(chr, range(33, 127))) + "    fijlrtÅÉÜçñß×–日"
    for _ in range(100):
        lines = ["".join(draw.choices(printable, k=draw.randint(1, 14))) for _ in range(3)]
        canvas = Image.new("L", (128, round(3 * height * 1.2) + 4))
        pen, font = ImageDraw.Draw(canvas), ImageFont.load_default(height)
        for number, line in enumerate(lines):
            start = (128 - line_width(line, height)) / 2
            pen.text((start, number * height * 1.2), line, 255, font)
        assert np.array_equal(text_coverage(lines, height, 128), np.asarray(canvas)), lines
