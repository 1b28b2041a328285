"""Small JPEGs and short texts of samples from the web, which a page can hold as they are."""

import io

from PIL import Image

from benchmark.core.images import THUMBNAIL
from benchmark.results.pictures import CAPTION_CHARACTERS

QUALITY = 70


def thumbnail(image: Image.Image) -> bytes:
    """Return the RGB `image` as a JPEG whose longer side is at most `THUMBNAIL`, without any metadata."""
    small = image.copy()
    small.thumbnail((THUMBNAIL, THUMBNAIL))
    small.info = {}  # Pillow would write a comment in it again
    buffer = io.BytesIO()
    small.save(buffer, "JPEG", quality=QUALITY, optimize=True)
    return buffer.getvalue()


def short_text(text: str) -> str:
    """Return at most `CAPTION_CHARACTERS` of a caption, on one line, without control characters."""
    printable = "".join(character if character.isprintable() else " " for character in text)
    return " ".join(printable.split())[:CAPTION_CHARACTERS]
