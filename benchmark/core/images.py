"""Decoding of images from the web to RGB, of limited size and in known formats."""

import io
import struct
import warnings

from PIL import Image

from benchmark.core.batch import IMAGE_TOO_LARGE, IMAGE_UNREADABLE, SampleError

# Pillow would warn on stderr at a limit of its own; ours is lower, and samples above it are counted.
warnings.filterwarnings("ignore", category=Image.DecompressionBombWarning)

# 50 megapixels decode to 150 MB; the header states the size, so no pixel of a decompression bomb is decoded.
MAX_PIXELS = 50_000_000
THUMBNAIL = 96  # pixels of the longer side of what people are shown
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
