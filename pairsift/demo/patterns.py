"""Patterns and materials: their extra colours, and the pixels that have them."""

from functools import lru_cache

import numpy as np
import numpy.typing as npt

from pairsift.demo.vocabulary import COLOURS

Colour = tuple[int, int, int]
RAINBOW: tuple[Colour, ...] = (
    (220, 40, 40), (245, 150, 30), (250, 220, 40), (60, 170, 70), (50, 100, 220), (140, 60, 180),
)  # fmt: skip
LIGHT = frozenset({"white", "yellow", "pink", "grey", "orange"})


@lru_cache(maxsize=256)
def pattern_image(
    pattern: str, colour: str, size: int
) -> tuple[npt.NDArray[np.uint8], npt.NDArray[np.uint8]]:
    """Return the extra colours of a pattern on a thing of `colour`, and a mask of the pixels that have them.

    RGB, shape (size, size, 3), and 255 or 0, shape (size, size), both uint8. They are cached: do not modify them.
    """
    numbers = _colour_numbers(pattern, size)
    colours = np.array([(0, 0, 0), *_colours(pattern, colour)], np.uint8)
    return colours[numbers], np.where(numbers > 0, np.uint8(255), np.uint8(0))


@lru_cache
def _colour_numbers(pattern: str, size: int) -> npt.NDArray[np.uint8]:
    """Return for each pixel the number of the pattern's extra colour, 0 for none: uint8, shape (size, size)."""
    y, x = np.mgrid[:size, :size] * (128 / size)
    match pattern:
        case "striped":
            mask = (x + 0.35 * y) % 9 < 4
        case "dotted":
            row = y // 8
            mask = ((x + 4 * (row % 2)) % 8 - 4) ** 2 + (y % 8 - 4) ** 2 < 6.5
        case "checked":
            mask = (x // 5 + y // 5) % 2 == 1
        case "shiny":
            mask = (x + y) % 34 < 7
        case "wooden":
            wave = y + 2 * np.sin(x / 9)
            mask = np.where(wave % 6 < 1.6, 2, 1)
        case "zigzag":
            mask = (y + np.abs(x % 12 - 6) * 1.2) % 10 < 4.5
        case _:  # rainbow
            mask = (y // 4) % len(RAINBOW) + 1
    return np.asarray(mask, np.uint8)


def _colours(pattern: str, colour: str) -> tuple[Colour, ...]:
    """Return the extra colours of a pattern on a thing of `colour`, in the order of the mask's numbers."""
    if pattern == "wooden":
        return (178, 124, 70), (120, 76, 38)
    if pattern == "rainbow":
        return RAINBOW
    r, g, b = COLOURS[colour]
    if pattern == "shiny":
        return (((r + 255 * 2) // 3, (g + 255 * 2) // 3, (b + 255 * 2) // 3),)
    if colour in LIGHT:
        return ((r // 2, g // 2, b // 2),)
    return ((248, 246, 240),)
