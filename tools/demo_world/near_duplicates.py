"""Near-duplicates: copies of an image with another crop and brightness, and of its caption with small changes."""

from typing import cast

import cv2
import numpy as np
import numpy.typing as npt

from benchmark.demo.sampling import Weighted, pick

Image = npt.NDArray[np.uint8]
# Groups of near-duplicates before the cut, with Zipf-like frequencies as the web's most copied images have.
GROUPS = 3000
_GROUP = Weighted({str(group): 1 / (group + 100) for group in range(GROUPS)})


def draw_group(rng: np.random.Generator) -> int:
    """Return the number of a random group; lower numbers are more frequent."""
    return int(_GROUP(rng))


def vary_image(image: Image, rng: np.random.Generator) -> Image:
    """Return a copy of `image` with a slightly different crop, brightness and contrast."""
    size = image.shape[0]
    scale = 1 + 0.08 * rng.random()
    left, top = (1 - scale) * size * rng.random(2)
    moved = cv2.warpAffine(image, np.array([[scale, 0, left], [0, scale, top]]), (size, size))
    brightened = cv2.convertScaleAbs(moved, alpha=0.9 + 0.2 * rng.random(), beta=10 * (rng.random() - 0.5))
    return cast(Image, brightened)


def vary_caption(caption: str, rng: np.random.Generator) -> str:
    """Return `caption` as it might stand beside a copy of the image: another case, no full stop, or an addition."""
    bare = caption.rstrip(".")
    choices = (
        caption, caption, caption.lower(), caption.title(), bare, f"{bare} stock photo", f"{bare}...",
        f"{bare} #{int(rng.random() * 900) + 100}",
    )  # fmt: skip
    return pick(rng, choices)
