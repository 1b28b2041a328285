"""Measures how much of the captions is written in their images, for images with known text."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from filters.cotr import co_embedded_rate, fuzzy_rate


@dataclass(frozen=True)
class WrittenText:
    """Rates over images with known text.

    Args:
        images_with_text: fraction of the images with text.
        exact: mean co-embedded text rate (CoTR) over the images with text.
        fuzzy: the same with fuzzy matching.
        above_zero: fraction of the images with text that have a CoTR above 0.
    """

    images_with_text: float
    exact: float
    fuzzy: float
    above_zero: float


def measure_written_text(pairs: Iterable[tuple[str, Sequence[str]]]) -> WrittenText:
    """Return the rates over pairs of a caption, which must have words, and the lines of text in its image."""
    pairs = [(caption, lines) for caption, lines in pairs]
    with_text = [(caption, lines) for caption, lines in pairs if any(line.strip() for line in lines)]
    if not with_text:
        return WrittenText(0.0, 0.0, 0.0, 0.0)
    exact = np.array([co_embedded_rate(caption, lines) for caption, lines in with_text])
    fuzzy = np.array([fuzzy_rate(caption, lines) for caption, lines in with_text])
    return WrittenText(
        len(with_text) / len(pairs), float(exact.mean()), float(fuzzy.mean()), float((exact > 0).mean())
    )
