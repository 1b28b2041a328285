"""Decoding of images from the web: bounded, RGB, or a counted reason."""

import io
import struct
import warnings

from PIL import Image

from benchmark.core.batch import IMAGE_TOO_LARGE, IMAGE_UNREADABLE, SampleError

# Pillow would warn on stderr at a bound of its own; ours is lower and counted.
warnings.filterwarnings("ignore", category=Image.DecompressionBombWarning)

# 50 megapixels decode to 150 MB; a bomb says its size in the header, before any pixel is decoded.
MAX_PIXELS = 50_000_000
FORMATS = ("JPEG", "PNG", "WEBP", "GIF", "BMP", "TIFF")


def decode_image(data: bytes) -> Image.Image:
    """Decode `data` to an RGB image. Raises `SampleError` (unreadable, truncated, too large)."""
    try:
        with Image.open(io.BytesIO(data), formats=FORMATS) as image:
            if image.width * image.height > MAX_PIXELS:
                raise SampleError(IMAGE_TOO_LARGE)
            return image.convert("RGB")
    except Image.DecompressionBombError:
        raise SampleError(IMAGE_TOO_LARGE) from None
    except (OSError, ValueError, SyntaxError, EOFError, struct.error):
        raise SampleError(IMAGE_UNREADABLE) from None
