"""What every metric returns: a value, or the reason why there is none."""

import math
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass
from importlib.metadata import version

ImageId = Hashable  # whatever tells images apart: COCO's number, a file name, (evaluation set, number)


class UnavailableError(Exception):
    """A metric that cannot be computed here; the message is its one-line reason."""


@dataclass(frozen=True)
class Metric:
    """One number of an evaluation.

    `value` is in the library's own unit, None when the metric could not be computed; then, and only then,
    `reason` says why. `count` is the number of images (or queries) behind it, `version` names the library.
    `curve` holds the numbers whose mean is `value`, by position in the caption, for metrics that have them.
    """

    name: str
    value: float | None
    reason: str | None
    count: int
    version: str
    curve: tuple[float, ...] = ()

    def __post_init__(self) -> None:
        if (self.value is None) == (self.reason is None):
            raise ValueError(
                f"{self.name}: either a value or a reason, got {self.value!r} and {self.reason!r}"
            )
        if self.value is not None and not math.isfinite(self.value):
            raise ValueError(f"{self.name}: {self.value} is no value; give the reason instead")


@dataclass(frozen=True)
class Corpus:
    """Candidate and reference captions by image id; every image with a candidate has references."""

    candidates: Mapping[ImageId, str]
    references: Mapping[ImageId, Sequence[str]]

    def __post_init__(self) -> None:
        bare = [image for image in self.candidates if not self.references.get(image)]
        if bare:
            raise ValueError(f"{len(bare)} images have a candidate but no references, e.g. {bare[0]!r}")

    def subset(self, images: Sequence[ImageId]) -> "Corpus":
        """Return the corpus of these images only, in this order."""
        return Corpus(
            {image: self.candidates[image] for image in images},
            {image: self.references[image] for image in images},
        )


def library(name: str) -> str:
    """Return ``"name version"`` of an installed library."""
    return f"{name} {version(name)}"
