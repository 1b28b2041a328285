"""The image files of evaluation sets."""

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from PIL import Image

from benchmark.core.batch import SampleError
from benchmark.core.errors import UserError
from benchmark.core.images import decode_image

HOW = "the headers of conf/evalset say where to get it"
IMAGE_ENDINGS = ("webp", "png", "jpg", "jpeg")


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
    absent = [path for path in paths if not _is_file(path)]
    if absent:
        files = f"{len(absent)} image files are" if len(absent) > 1 else "an image file is"
        raise UserError(f"evaluation set {name}: {files} missing ({min(absent)}); {HOW}")


def _is_file(path: Path) -> bool:
    try:
        return path.is_file()
    except OSError:  # a name that is too long
        return False
