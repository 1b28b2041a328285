"""Rendered texts: ink of the right colour in the middle, whole, and a reason where there is none."""

import numpy as np
import pytest

from pairsift.studies.parrots.rendering import (
    LARGEST,
    SMALLEST,
    STYLES,
    font,
    letter_height,
    render,
    unrenderable_reason,
)

COLOURS = {"white": 255, "black": 0, "gray": 128}


def pixels(text: str) -> list[np.ndarray]:
    images = render(text)
    assert all((image.mode, image.size) == ("RGB", (224, 224)) for image in images)
    return [np.asarray(image) for image in images]


@pytest.mark.parametrize("text", ["Hello", "Wednesday-and-some-more-letters", "i"])
def test_each_style_draws_the_text_in_the_middle(text: str) -> None:
    for image, (ground, ink) in zip(pixels(text), STYLES.values(), strict=True):
        assert (image == image[..., :1]).all()  # white, grey, black
        drawn = image[..., 0] == COLOURS[ink]
        anything = image[..., 0] != COLOURS[ground]
        assert drawn.any()
        assert (image[0] == COLOURS[ground]).all()
        rows, columns = np.nonzero(anything)
        assert abs((columns.min() + columns.max()) / 2 - 111.5) <= 3
        assert abs((rows.min() + rows.max()) / 2 - 111.5) <= LARGEST / 4
        assert min(columns.min(), 223 - columns.max()) >= 4  # whole, with a margin


def test_letters_shrink_until_the_text_fits() -> None:
    heights = [letter_height("w" * count) for count in (1, 9, 20, 30)]
    assert heights[0] == LARGEST
    assert all(height is not None and height >= SMALLEST for height in heights)
    assert heights == sorted(heights, key=lambda h: -(h or 0))
    for count, height in zip((1, 9, 20, 30), heights, strict=True):
        assert height is not None
        assert font(height).getlength("w" * count) <= 208
        assert height == LARGEST or font(height + 1).getlength("w" * count) > 200  # no smaller than it must


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("Hello world", None), ("#1,299.00!", None), ("it’s", None), ("", None),
        ("日本", "no_glyph"), ("caf\u00e9", "no_glyph"), ("a\x00b", "no_glyph"), ("a\u200bb", "no_glyph"),
        ("\ud800", "no_glyph"), ("مرحبا", "no_glyph"), ("😀", "no_glyph"),
        ("a\x1b[31m", "no_glyph"), ("W" * 60, "too_wide"), ("W" * 1_000, "too_wide"),
    ],
)  # fmt: skip
def test_an_unrenderable_text_has_its_reason(text: str, reason: str | None) -> None:
    assert unrenderable_reason(text) == reason


def test_a_text_that_does_not_fit_is_not_drawn() -> None:
    with pytest.raises(ValueError, match="too wide"):
        render("W" * 100)
