"""Decoding of images from the web to RGB as viewers show them, of limited size, time, and in known formats."""

import io
import re
import time
import warnings
from contextlib import suppress

import numpy as np
from PIL import Image, ImageOps

from benchmark.core.batch import (
    IMAGE_TOO_LARGE,
    IMAGE_TOO_NARROW,
    IMAGE_TOO_SLOW,
    IMAGE_UNREADABLE,
    SampleError,
)

# Pillow would warn on stderr of damage, and at a limit of its own, which is above ours: such samples are counted.
warnings.filterwarnings("ignore", category=Image.DecompressionBombWarning)
warnings.filterwarnings("ignore", module=r"PIL\.")

# Part of the keys of features, of scores of images and of trainings: raised when the same bytes give other pixels.
DECODER = 2
MAX_BYTES = 50_000_000  # of an encoded image
# 50 megapixels decode to 150 MB; the header states the size, so no pixel of a decompression bomb is decoded.
MAX_PIXELS = 50_000_000
MAX_SIDE = 20_000
# Models scale the shorter side to theirs: of an image of 1 by 20,000 pixels they would make one of 224 by 4,480,000.
MAX_RATIO = 50
# A JPEG may have any number of scans, each of which is decoded over the whole image; cameras and editors write ten.
MAX_SCANS = 100
# In the compressed pixels of a JPEG a zero follows each 0xff.
_MARKER = re.compile(rb"\xff([\x01-\xcf\xd8-\xfe])")
_END, _SCAN = 0xD9, 0xDA
SECONDS = 10.0  # of a processor, to decode one image; 50 megapixels take one to three
# Decoded images are held until they are so many pixels together, 450 MB; the last may exceed it by its own.
HELD_PIXELS = 150_000_000
THUMBNAIL = 192  # pixels of the longer side of images for readers, who can enlarge them
FORMATS = ("JPEG", "PNG", "WEBP", "GIF", "BMP", "TIFF", "AVIF")
# Of several images of one key the first in this order counts, as in open_clip's trainer; others are left out.
IMAGE_EXTENSIONS = ("jpg", "png", "jpeg", "webp", "gif", "bmp", "tif", "tiff", "avif")
_SIXTEEN_BITS = ("I;16", "I;16L", "I;16B", "I;16N")
_THIRTY_TWO_BITS = ("I", "F")  # nothing says which of their numbers is white


class _Timed(io.BytesIO):
    """Bytes for Pillow. Reading raises `SampleError` after `SECONDS` of this thread's processor time."""

    def __init__(self, data: bytes) -> None:
        super().__init__(data)
        self.end = time.thread_time() + SECONDS

    def read(self, size: int | None = -1, /) -> bytes:
        if time.thread_time() > self.end:
            raise SampleError(IMAGE_TOO_SLOW)
        return super().read(size)


def decode_image(data: bytes) -> Image.Image:
    """Decode `data` to an RGB image as viewers show it: upright by its EXIF, transparent parts white.

    Raises `SampleError` (unreadable, truncated, too large, too narrow, too slow).
    """
    if len(data) > MAX_BYTES:
        raise SampleError(IMAGE_TOO_LARGE)
    try:
        with Image.open(_Timed(data), formats=FORMATS) as image:
            short, long = sorted(image.size)
            if long > MAX_SIDE or short * long > MAX_PIXELS:
                raise SampleError(IMAGE_TOO_LARGE)
            if long > MAX_RATIO * short:
                raise SampleError(IMAGE_TOO_NARROW)
            if image.format == "JPEG" and data.count(b"\xff\xda") > MAX_SCANS and _scans(data) > MAX_SCANS:
                raise SampleError(IMAGE_TOO_SLOW)
            image.load()
            with suppress(Exception):  # of damaged EXIF, any kind: the image stays as it is stored
                ImageOps.exif_transpose(image, in_place=True)
            return _to_rgb(image)
    except SampleError:
        raise
    except Image.DecompressionBombError:
        raise SampleError(IMAGE_TOO_LARGE) from None
    except Exception:  # Pillow's decoders raise errors of any kind on damaged data
        raise SampleError(IMAGE_UNREADABLE) from None


def _scans(data: bytes) -> int:
    """Return how many scans a JPEG has, without what follows its end, such as the film of a moving photo."""
    scans, position = 0, 2
    while marker := _MARKER.search(data, position):
        kind, position = marker[1][0], marker.end()
        if kind == _END:
            break
        scans += kind == _SCAN
        position += int.from_bytes(data[position : position + 2], "big")  # the segment's length
    return scans


def _to_rgb(image: Image.Image) -> Image.Image:
    if image.mode in _SIXTEEN_BITS:  # Pillow would cut all above 255 to white
        return Image.fromarray((np.asarray(image) // 257).astype(np.uint8)).convert("RGB")
    if image.mode in _THIRTY_TWO_BITS:
        raise SampleError(IMAGE_UNREADABLE)
    if image.has_transparency_data:  # as img2dataset does
        layer = image.convert("RGBA")
        image = Image.alpha_composite(Image.new("RGBA", layer.size, "white"), layer)
    return image.convert("RGB")
