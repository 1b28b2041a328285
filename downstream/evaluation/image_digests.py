"""Hashes of the bytes of evaluation images: they tell sets apart, and find their images in a pool."""

import json
from collections.abc import Sequence
from dataclasses import astuple, dataclass

from benchmark.core.batch import SampleError
from benchmark.core.errors import UserError
from benchmark.core.hashes import hash_bytes, hash_json
from benchmark.core.images import decode_image
from benchmark.core.paths import cache_folder, write_text
from benchmark.core.progress import progress
from benchmark.core.seals import intact
from downstream.evaluation.image_files import ImageFile


@dataclass(frozen=True)
class ImageDigest:
    """The size of an image in bytes, and their hash."""

    size: int
    sha256: str


def digest_images(images: Sequence[ImageFile]) -> list[ImageDigest]:
    """Return the digest of each of the `images`; they are read once, and again when a file changes.

    Raises `UserError` for an image that cannot be read or decoded: its evaluation would fail, after the training.
    """
    try:
        written = {path: path.stat() for path in {image.path for image in images}}
        files = [
            [
                str(image.path),
                image.offset,
                image.size,
                written[image.path].st_size,
                written[image.path].st_mtime_ns,
            ]
            for image in images
        ]
        key = hash_json(files, 16)
        cached = cache_folder("evaluation_images") / f"{key}.json"
        if intact(cached):
            return [ImageDigest(*values) for values in json.loads(cached.read_text())]
        digests = []
        with progress("check", len(images), "evaluation images") as advance:
            for image in images:
                digests.append(_digest(image))
                advance(1, "")
    except OSError as error:
        raise UserError(f"evaluation image {error.filename} cannot be read ({error.strerror})") from None
    write_text(cached, json.dumps([astuple(digest) for digest in digests]))
    return digests


def _digest(image: ImageFile) -> ImageDigest:
    data = image.read()
    try:
        decode_image(data)
    except SampleError as error:
        place = f"at byte {image.offset:,} of {image.path}" if image.offset else f"{image.path}"
        raise UserError(f"evaluation image {place} cannot be read ({error}); fetch it again") from None
    return ImageDigest(len(data), hash_bytes(data))
