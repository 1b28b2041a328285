"""Texts rendered on blank images, like the paper's synthetic images (Lin et al. 2023, section 5.2 and Figure 2)."""

from functools import lru_cache
from typing import Literal

from PIL import Image, ImageDraw, ImageFont

SIZE = 224  # pixels of width and height
# Background and text colour. The paper names black-white, black-grey, white-grey and white-black; which of the two is
# the background is taken from the released benchmark (opendatalab/CLIP-Parrot-Bias, sys_benchmark.py).
STYLES: dict[str, tuple[str, str]] = {
    "black on white": ("white", "black"),
    "white on black": ("black", "white"),
    "white on grey": ("gray", "white"),
    "black on grey": ("gray", "black"),
}
# Letter heights in pixels. The largest is the released benchmark's, which lets a long text run out of the image; here
# letters shrink until it fits, down to the smallest that can still be read.
LARGEST, SMALLEST = 32, 8
MARGIN = 8  # pixels

Reason = Literal["no_glyph", "too_wide"]


@lru_cache(maxsize=LARGEST)
def font(height: int) -> ImageFont.FreeTypeFont:
    """Return Pillow's built-in font (Aileron Regular, CC0): ASCII and some typographic signs, no accents."""
    loaded = ImageFont.load_default(height)
    assert isinstance(loaded, ImageFont.FreeTypeFont), "Pillow without FreeType"
    # The other layout engine needs a library that not every machine has, and its kerning differs.
    return loaded.font_variant(layout_engine=ImageFont.Layout.BASIC)


@lru_cache(maxsize=65536)
def has_glyph(character: str) -> bool:
    """Return whether the font has `character`; it draws the same box for all characters that it lacks."""
    return character == " " or _shape(character) != _shape("\U0010ffff")


def _shape(character: str) -> tuple[tuple[int, int], bytes]:
    mask = font(LARGEST).getmask(character)
    return mask.size, bytes(mask)


def letter_height(text: str) -> int | None:
    """Return the letter height in pixels at which `text` fits on one line; None if that is too small to read."""
    limit = SIZE - 2 * MARGIN
    height = min(LARGEST, int(LARGEST * limit / max(1.0, font(LARGEST).getlength(text))))
    while height >= SMALLEST and font(height).getlength(text) > limit:  # hinted widths do not scale exactly
        height -= 1
    return height if height >= SMALLEST else None


def unrenderable_reason(text: str) -> Reason | None:
    """Return why `text` cannot be rendered; None if it can."""
    if not all(map(has_glyph, text)):
        return "no_glyph"
    return None if letter_height(text) else "too_wide"


def render(text: str) -> list[Image.Image]:
    """Return `text` centred on an RGB image, 224 x 224, per style. Raises `ValueError` if it is unrenderable."""
    height = letter_height(text)
    if height is None:
        raise ValueError(f"{text[:40]!r} is too wide")
    return [_draw(text, font(height), background, colour) for background, colour in STYLES.values()]


def _draw(text: str, typeface: ImageFont.FreeTypeFont, background: str, colour: str) -> Image.Image:
    image = Image.new("RGB", (SIZE, SIZE), background)
    ImageDraw.Draw(image).text((SIZE / 2, SIZE / 2), text, fill=colour, font=typeface, anchor="mm")
    return image
