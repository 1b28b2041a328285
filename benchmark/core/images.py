"""Decoding of images from the web to RGB as viewers show them, of limited size, time, and in known formats."""

import io
import re
import time
import warnings
from collections.abc import Mapping
from contextlib import suppress
from typing import Any

import numpy as np
from PIL import Image, ImageOps

from benchmark.core import batch
from benchmark.core.batch import SampleError

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
MAX_SCANS = 100  # of 50 megapixels take four seconds
# The end (0xd9) and the markers that a length follows. In the compressed pixels of a JPEG a zero follows each 0xff.
_MARKER = re.compile(rb"\xff([\xc0-\xcf\xd9-\xfe])(..)?", re.DOTALL)
SECONDS = 10.0  # of a processor, to decode one image; 50 megapixels take one to three
# Decoded images are held until they are so many pixels together, 450 MB; the last may exceed it by its own.
HELD_PIXELS = 150_000_000
THUMBNAIL = 192  # pixels of the longer side of images for readers, who can enlarge them
# TIFFs of JPEGs need no count: libtiff refuses one of 100 scans. A multi-picture JPEG (MPO) opens as a JPEG.
FORMATS = ("JPEG", "PNG", "WEBP", "GIF", "BMP", "TIFF", "AVIF")
# Of several images of one key the first in this order counts, as in open_clip's trainer; others are left out.
IMAGE_EXTENSIONS = ("jpg", "png", "jpeg", "webp", "gif", "bmp", "tif", "tiff", "avif")
_BITS, _PHOTOMETRIC, _TILE_WIDTH, _TILE_HEIGHT = 258, 262, 322, 323  # tags of a TIFF


class _Timed(io.BytesIO):
    """Bytes for Pillow. Reading raises `SampleError` after `SECONDS` of this thread's processor time."""

    def __init__(self, data: bytes) -> None:
        super().__init__(data)
        self.end = time.thread_time() + SECONDS

    def read(self, size: int | None = -1, /) -> bytes:
        if time.thread_time() > self.end:
            raise SampleError(batch.IMAGE_TOO_SLOW)
        return super().read(size)


def decode_image(data: bytes) -> Image.Image:
    """Decode `data` to an RGB image as viewers show it: upright by its EXIF, transparent parts white.

    Raises `SampleError` (unreadable, truncated, too large, too narrow, too slow).
    """
    if len(data) > MAX_BYTES:
        raise SampleError(batch.IMAGE_TOO_LARGE)
    try:
        with Image.open(_Timed(data), formats=FORMATS) as image:
            short, long = sorted(image.size)
            tags = getattr(image, "tag_v2", {})  # of a TIFF
            # A tile is decoded whole, however small a part of it the image has.
            decoded = (image.width + tags.get(_TILE_WIDTH, 0)) * (image.height + tags.get(_TILE_HEIGHT, 0))
            if long > MAX_SIDE or decoded > MAX_PIXELS:
                raise SampleError(batch.IMAGE_TOO_LARGE)
            if long > MAX_RATIO * short:
                raise SampleError(batch.IMAGE_TOO_NARROW)
            scans = data.count(b"\xff\xda") if data.startswith(b"\xff\xd8") else 0
            if scans > MAX_SCANS and _scans(data) > MAX_SCANS:
                raise SampleError(batch.IMAGE_TOO_SLOW)
            image.load()
            with suppress(Exception):  # of damaged EXIF, any kind: the image stays as it is stored
                ImageOps.exif_transpose(image, in_place=True)
            return _to_rgb(image, tags, data[24] if image.format == "PNG" else 8)
    except SampleError:
        raise
    except Image.DecompressionBombError:
        raise SampleError(batch.IMAGE_TOO_LARGE) from None
    except Exception:  # Pillow's decoders raise errors of any kind on damaged data
        raise SampleError(batch.IMAGE_UNREADABLE) from None


def _scans(data: bytes) -> int:
    """Return how many scans a JPEG has, without what follows its end, such as the film of a moving photo."""
    scans, position = 0, 2
    while (marker := _MARKER.search(data, position)) and marker[1] != b"\xd9":
        scans += marker[1] == b"\xda"
        position = marker.end() + int.from_bytes(marker[2] or b"", "big")
    return scans


def _to_rgb(image: Image.Image, tags: Mapping[int, Any], depth: int) -> Image.Image:
    """Return a decoded image as RGB, given the tags of a TIFF, or the bit depth that a PNG's clear level has."""
    clear = image.info.get("transparency")
    if image.mode.startswith("I;16"):  # Pillow would cut all above 255 to white
        levels = np.asarray(image)
        grey = (levels // (16 if tags.get(_BITS) == (12,) else 257)).astype(np.uint8)
        grey = 255 - grey if tags.get(_PHOTOMETRIC) == 0 else grey  # 0 is white
        return Image.fromarray(grey if clear is None else np.where(levels == clear, 255, grey)).convert("RGB")
    if image.mode in ("I", "F"):  # nothing says which of their numbers is white
        raise SampleError(batch.IMAGE_UNREADABLE)
    if image.mode == "L" and depth < 8 and clear is not None:
        image.info["transparency"] = clear * 255 // ((1 << depth) - 1)
    if image.mode == "RGB" and depth == 16 and clear is not None:
        image.info["transparency"] = tuple(level >> 8 for level in clear)
    if image.has_transparency_data:  # as img2dataset does
        layer = image.convert("LA" if image.mode == "La" else "RGBA").convert("RGBA")
        image = Image.alpha_composite(Image.new("RGBA", layer.size, "white"), layer)
    return image.convert("RGB")
