"""Cosines of rendered texts with the text itself, and with another text as a control."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np
import numpy.typing as npt
from PIL import Image

from benchmark.core.progress import progress
from pairsift.studies.parrots.rendering import STYLES, render

BATCH = 64  # texts per batch, with four images each

Floats = npt.NDArray[np.float32]
Integers = npt.NDArray[np.int64]


class Encoder(Protocol):
    """Embeds images and texts as unit vectors of one space, shape (n, d)."""

    def embed_images(self, images: Sequence[Image.Image], /) -> Floats:
        """Return the unit vectors of RGB images."""

    def embed_texts(self, texts: Sequence[str], /) -> Floats:
        """Return the unit vectors of texts."""


@dataclass(frozen=True)
class Similarities:
    """Cosines of the images of n texts, one column per style, shape (n, 4).

    `own`: with the rendered text. `other`: with another text of the vocabulary, drawn at random; NaN for
    a single text. The control is needed since models have different offsets of their cosines, and an offset that both
    columns share does not show that a model reads.
    """

    own: Floats
    other: Floats

    def __getitem__(self, rows: npt.NDArray[np.bool_]) -> "Similarities":
        return Similarities(self.own[rows], self.other[rows])


def measure(encoder: Encoder, texts: Sequence[str], seed: int) -> Similarities:
    """Render `texts`, a batch of images at a time, and compare; `seed` is the random seed of the controls."""
    shape = len(texts), len(STYLES)
    own, other = np.empty(shape, np.float32), np.full(shape, np.nan, np.float32)
    order = np.random.default_rng(seed).permutation(len(texts))  # the next text is then a random one
    with progress("text spotting", len(texts), "texts") as advance:
        # The sizes of batches differ by at most one: a batch of one text would lack a control.
        for rows in np.array_split(order, max(1, -(-len(order) // BATCH))):
            rendered = [texts[row] for row in rows]
            images = encoder.embed_images([image for text in rendered for image in render(text)])
            images = images.reshape(len(rendered), len(STYLES), -1)
            vectors = encoder.embed_texts(rendered)
            own[rows] = np.einsum("nsd,nd->ns", images, vectors)
            if len(rendered) > 1:
                other[rows] = np.einsum("nsd,nd->ns", images, np.roll(vectors, 1, axis=0))
            advance(len(rendered), "")
    return Similarities(own, other)


@dataclass(frozen=True)
class Summary:
    """Mean and population standard deviation of the cosines of `texts` texts, over all of their images.

    `other_mean`, `other_std`: the same for the control. `above`: fraction of images more similar to their own
    text than to the other (chance: 0.5), whatever the offset and scale of the cosines. None without a control.
    """

    texts: int
    mean: float
    std: float
    other_mean: float | None
    other_std: float | None
    above: float | None


@dataclass(frozen=True)
class Bin:
    """A summary of the texts whose frequency, or length in characters, is from `low` to `high`, both included."""

    low: int
    high: int | None  # None for the last bin, which is unbounded
    summary: Summary


def summarise(similarities: Similarities) -> Summary:
    """Return the summary of n > 0 texts."""
    own, other = similarities.own.astype(np.float64), similarities.other.astype(np.float64)
    controlled = not np.isnan(other).any()
    return Summary(
        texts=len(own),
        mean=float(own.mean()),
        std=float(own.std()),
        other_mean=float(other.mean()) if controlled else None,
        other_std=float(other.std()) if controlled else None,
        above=float((own > other).mean()) if controlled else None,
    )


def by_style(similarities: Similarities) -> dict[str, Summary]:
    """Return a summary per pair of colours."""
    own, other = similarities.own, similarities.other
    return {style: summarise(Similarities(own[:, [s]], other[:, [s]])) for s, style in enumerate(STYLES)}


def by_bin(similarities: Similarities, values: Integers, lows: Sequence[int]) -> list[Bin]:
    """Return a summary per bin of `values` (n,) that has texts.

    `lows` are the lower ends of the bins, ascending; no value is below the first, and the last bin is unbounded.
    """
    bins = np.searchsorted(np.asarray(lows), values, side="right") - 1
    highs = [*(low - 1 for low in lows[1:]), None]
    return [
        Bin(lows[index], highs[index], summarise(similarities[bins == index]))
        for index in range(len(lows))
        if (bins == index).any()
    ]
