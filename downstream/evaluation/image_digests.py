"""Hashes of the bytes of evaluation images: they tell sets apart, and find their images in a pool."""

import hashlib
import json
from collections.abc import Sequence
from dataclasses import astuple, dataclass

from benchmark.core.errors import UserError
from benchmark.core.paths import cache_dir, write_text
from benchmark.core.seals import intact
from downstream.evaluation.image_files import ImageFile


@dataclass(frozen=True)
class ImageDigest:
    """The size of an image in bytes, and their hash."""

    size: int
    sha256: str


def digest_images(images: Sequence[ImageFile]) -> list[ImageDigest]:
    """Return the digest of each of the `images`; they are read once, and again when a file changes.

    Raises `UserError` for a file that cannot be read.
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
        key = hashlib.sha256(json.dumps(files).encode()).hexdigest()[:16]
        cached = cache_dir() / "evaluation_images" / f"{key}.json"
        if intact(cached):
            return [ImageDigest(*values) for values in json.loads(cached.read_text())]
        digests = [_digest(image) for image in images]
    except OSError as error:
        raise UserError(f"evaluation image {error.filename} cannot be read ({error.strerror})") from None
    write_text(cached, json.dumps([astuple(digest) for digest in digests]))
    return digests


def _digest(image: ImageFile) -> ImageDigest:
    data = image.read()
    return ImageDigest(len(data), hashlib.sha256(data).hexdigest())
