"""The shipped contents of the demo's images, and the drawing of an image from its content."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import cast

import cv2
import numpy as np
import numpy.typing as npt
import pyarrow as pa

from pairsift.demo.draws import generator_at
from pairsift.demo.render import render
from pairsift.demo.text_rendering import overlay_text, render_text
from pairsift.demo.world import Thing, arrange

Image = npt.NDArray[np.uint8]


@dataclass(frozen=True)
class Picture:
    """Content of an image.

    Its variations come from a random generator. The tools that made the world used the generator's first values.
    """

    # The things of its scene before they are arranged; empty if the image shows only text.
    things: tuple[Thing, ...]
    relation: str  # relation between the first two things
    place: str  # place of the scene
    arranged_at: int  # number of values drawn from the generator before the things were arranged
    drawn_at: int  # number of values drawn from the generator before the image


def read_pictures(table: pa.Table) -> Iterator[Picture]:
    """Yield the picture of each row of a shipped table."""
    lists = table["things"].combine_chunks()
    fields = lists.flatten().flatten()  # one array per field of `Thing`, over the things of all rows
    things = iter([Thing(*values) for values in zip(*(field.to_pylist() for field in fields), strict=True)])
    columns = [table[name].to_pylist() for name in ("relation", "place", "arranged_at", "drawn_at")]
    for count, *values in zip(lists.value_lengths().to_pylist(), *columns, strict=True):
        yield Picture(tuple(islice(things, count)), *values)


def draw_picture(picture: Picture, text: str, seed: Sequence[int], size: int) -> Image:
    """Return an image, RGB, uint8, shape (size, size, 3).

    Args:
        picture: its content.
        text: words written in it, empty if there are none.
        seed: seed of its random generator.
        size: height and width in pixels.
    """
    rng = generator_at(seed, picture.drawn_at)
    words = text.split()
    if not picture.things:
        return render_text(words, rng, size)
    bits = cast(np.random.PCG64, rng.bit_generator)
    before_drawing = bits.state
    bits.advance(picture.arranged_at - picture.drawn_at)
    scene = arrange(picture.things, picture.relation, picture.place, rng)
    bits.state = before_drawing
    image = render(scene, rng, size)
    return overlay_text(image, words, rng) if words else image


def vary_image(image: Image, rng: np.random.Generator) -> Image:
    """Return a copy of `image` with a slightly different crop, brightness and contrast."""
    size = image.shape[0]
    scale = 1 + 0.08 * rng.random()
    left, top = (1 - scale) * size * rng.random(2)
    moved = cv2.warpAffine(image, np.array([[scale, 0, left], [0, scale, top]]), (size, size))
    brightened = cv2.convertScaleAbs(moved, alpha=0.9 + 0.2 * rng.random(), beta=10 * (rng.random() - 0.5))
    return cast(Image, brightened)
