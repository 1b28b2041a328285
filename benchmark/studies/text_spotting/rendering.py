"""A text on a blank image, as the paper's synthetic images (Lin et al. 2023, section 5.2 and Figure 2)."""

from functools import lru_cache
from typing import Literal

from PIL import Image, ImageDraw, ImageFont

SIZE = 224  # pixels, of a square
# Ground and ink. The paper names black-white, black-grey, white-grey and white-black; which of them is the ground is
# the released benchmark's (opendatalab/CLIP-Parrot-Bias, sys_benchmark.py).
STYLES: dict[str, tuple[str, str]] = {
    "black on white": ("white", "black"),
    "white on black": ("black", "white"),
    "white on grey": ("gray", "white"),
    "black on grey": ("gray", "black"),
}
# Height of letters: the released benchmark's. That lets a long text run out of the image; here letters shrink until
# it fits, down to a height that can still be read.
LARGEST, SMALLEST = 32, 8
MARGIN = 8

Reason = Literal["no_glyph", "too_wide"]


@lru_cache(maxsize=LARGEST)
def font(height: int) -> ImageFont.FreeTypeFont:
    """Return Pillow's own font (Aileron Regular, CC0). It has ASCII and some typographic signs, no accents."""
    loaded = ImageFont.load_default(height)
    assert isinstance(loaded, ImageFont.FreeTypeFont), "Pillow without FreeType"
    # The other layout engine comes with a library that is not on every machine, and kerns otherwise.
    return loaded.font_variant(layout_engine=ImageFont.Layout.BASIC)


@lru_cache(maxsize=65536)
def has_glyph(character: str) -> bool:
    """Tell whether the font draws `character`; it draws the same box for all that it lacks."""
    return character == " " or _shape(character) != _shape("\U0010ffff")


def _shape(character: str) -> tuple[tuple[int, int], bytes]:
    mask = font(LARGEST).getmask(character)
    return mask.size, bytes(mask)


def letter_height(text: str) -> int | None:
    """Return the height of letters at which `text` fits on one line; None if it would be too small to read."""
    limit = SIZE - 2 * MARGIN
    height = min(LARGEST, int(LARGEST * limit / max(1.0, font(LARGEST).getlength(text))))
    while height >= SMALLEST and font(height).getlength(text) > limit:  # hinted widths do not scale exactly
        height -= 1
    return height if height >= SMALLEST else None


def why_not(text: str) -> Reason | None:
    """Return why `text` cannot be rendered; None if it can."""
    if not all(map(has_glyph, text)):
        return "no_glyph"
    return None if letter_height(text) else "too_wide"


def render(text: str) -> list[Image.Image]:
    """Return `text` in the middle of an RGB image, 224 x 224, in each of the four styles."""
    height = letter_height(text)
    if height is None:
        raise ValueError(f"{text[:40]!r} is too wide")
    return [_draw(text, font(height), ground, ink) for ground, ink in STYLES.values()]


def _draw(text: str, drawn_in: ImageFont.FreeTypeFont, ground: str, ink: str) -> Image.Image:
    image = Image.new("RGB", (SIZE, SIZE), ground)
    ImageDraw.Draw(image).text((SIZE / 2, SIZE / 2), text, fill=ink, font=drawn_in, anchor="mm")
    return image
