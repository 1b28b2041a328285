"""Decoding of images from the web to RGB, of limited size and in known formats."""

import io
import warnings

import numpy as np
from PIL import Image

from benchmark.core.batch import IMAGE_TOO_LARGE, IMAGE_TOO_NARROW, IMAGE_UNREADABLE, SampleError

# Pillow would warn on stderr of damage, and at a limit of its own, which is above ours: such samples are counted.
warnings.filterwarnings("ignore", category=Image.DecompressionBombWarning)
warnings.filterwarnings("ignore", module=r"PIL\.")

MAX_BYTES = 50_000_000  # of an encoded image
# 50 megapixels decode to 150 MB; the header states the size, so no pixel of a decompression bomb is decoded.
MAX_PIXELS = 50_000_000
MAX_SIDE = 20_000
# Models scale the shorter side to theirs: of an image of 1 by 20,000 pixels they would make one of 224 by 4,480,000.
MAX_RATIO = 50
# Decoded images are held until they are so many pixels together, 450 MB; the last may exceed it by its own.
HELD_PIXELS = 150_000_000
THUMBNAIL = 192  # pixels of the longer side of images for readers, who can enlarge them
FORMATS = ("JPEG", "PNG", "WEBP", "GIF", "BMP", "TIFF")
_SIXTEEN_BITS = ("I;16", "I;16L", "I;16B", "I;16N")
_THIRTY_TWO_BITS = ("I", "F")  # nothing says which of their numbers is white


def decode_image(data: bytes) -> Image.Image:
    """Decode `data` to an RGB image. Raises `SampleError` (unreadable, truncated, too large, too narrow)."""
    if len(data) > MAX_BYTES:
        raise SampleError(IMAGE_TOO_LARGE)
    try:
        with Image.open(io.BytesIO(data), formats=FORMATS) as image:
            _check_size(*image.size)
            return _to_rgb(image)
    except SampleError:
        raise
    except Image.DecompressionBombError:
        raise SampleError(IMAGE_TOO_LARGE) from None
    except Exception:  # Pillow's decoders raise errors of any kind on damaged data
        raise SampleError(IMAGE_UNREADABLE) from None


def _check_size(width: int, height: int) -> None:
    short, long = sorted((width, height))
    if long > MAX_SIDE or width * height > MAX_PIXELS:
        raise SampleError(IMAGE_TOO_LARGE)
    if long > MAX_RATIO * short:
        raise SampleError(IMAGE_TOO_NARROW)


def _to_rgb(image: Image.Image) -> Image.Image:
    if image.mode in _SIXTEEN_BITS:  # Pillow would cut all above 255 to white
        return Image.fromarray((np.asarray(image) // 257).astype(np.uint8)).convert("RGB")
    if image.mode in _THIRTY_TWO_BITS:
        raise SampleError(IMAGE_UNREADABLE)
    return image.convert("RGB")
