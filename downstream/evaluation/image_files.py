"""The image files of evaluation sets, and hashes of their bytes, which identify sets and find images in a pool."""

import os
from collections.abc import Iterable, Sequence
from dataclasses import astuple, dataclass
from pathlib import Path

from PIL import Image

from benchmark.core.batch import SampleError
from benchmark.core.cached_files import read_cached
from benchmark.core.errors import UserError
from benchmark.core.hashes import hash_bytes, hash_json
from benchmark.core.images import decode_image
from benchmark.core.paths import cache_folder, refuse_pointers, write_cached
from benchmark.core.progress import tracked
from benchmark.core.requirements import AbsentError

HOW = "task=fetch gets what can be fetched, and `--help evalset=paper` says how to get the rest"


@dataclass(frozen=True)
class ImageFile:
    """The location of an image's bytes: a file, or `size` bytes at `offset` in a tar."""

    path: Path
    offset: int = 0
    size: int = -1

    def load(self, image_id: int | str) -> Image.Image:
        """Return the image in RGB. Raises `UserError` if it cannot be read: fewer images would be another metric."""
        try:
            return decode_image(self.read())
        except (OSError, SampleError) as error:
            raise UserError(f"evaluation image {image_id} in {self.path} cannot be read ({error})") from None

    def read(self) -> bytes:
        """Return the image's bytes. Raises OSError."""
        with self.path.open("rb") as file:
            file.seek(self.offset)
            return file.read(self.size)


def require_images(name: str, images: Iterable[ImageFile]) -> None:
    """Raise `UserError` unless the evaluation set `name` has images, and all their files exist."""
    paths = {image.path for image in images}
    if not paths:
        raise UserError(f"evaluation set {name} has no images; {HOW}")
    absent = [path for path in paths if not os.path.isfile(path)]  # noqa: PTH113  pathlib's may raise OSError
    if absent:
        files = f"{len(absent)} image files are" if len(absent) > 1 else "an image file is"
        raise AbsentError(f"evaluation set {name}: {files} missing ({min(absent)})")
    refuse_pointers(paths)


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
        states = {path: [state.st_size, state.st_mtime_ns] for path, state in written.items()}
        files = [[str(image.path), image.offset, image.size, *states[image.path]] for image in images]
        cached = cache_folder("evaluation_images") / f"{hash_json(files, 16)}.json"
        if (known := read_cached(cached)) is not None:
            return [ImageDigest(*values) for values in known]
        checked = tracked("check evaluation images", images, len(images), "images")
        digests = [_digest(image) for image in checked]
    except OSError as error:
        raise UserError(f"evaluation image {error.filename} cannot be read ({error.strerror})") from None
    write_cached(cached, [astuple(digest) for digest in digests])
    return digests


def _digest(image: ImageFile) -> ImageDigest:
    data = image.read()
    try:
        decode_image(data)
    except SampleError as error:
        place = f"at byte {image.offset:,} of {image.path}" if image.offset else f"{image.path}"
        raise UserError(f"evaluation image {place} cannot be read ({error}); fetch it again") from None
    return ImageDigest(len(data), hash_bytes(data))
