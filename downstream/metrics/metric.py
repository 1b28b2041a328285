"""The result of a metric: a value, or the reason why there is none."""

import logging
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass
from importlib.metadata import version
from typing import ClassVar

from benchmark.core.errors import UserError
from benchmark.core.source_code import own_place

ImageId = Hashable  # COCO's number, a file name, (evaluation set, number)
ScoresOfImages = dict[str, dict[ImageId, float]]  # metric -> image -> value


METRICS = "0.1.0"  # of pairsift: raised when a metric of ours gives other numbers, as protocols hold it
FAILED = "failed: "  # begins the reason of a metric whose computation raised an unexpected error
log = logging.getLogger(__name__)


class UnavailableError(Exception):
    """A metric that cannot be computed here; the message is its one-line reason."""


def failure(name: str, error: Exception) -> str:
    """Return the reason why metric `name` is absent after an error; an unexpected one is logged with its traceback.

    The error ends nothing: hours of training may be behind a result, and its other metrics are kept.
    """
    if isinstance(error, UserError):  # a disk that is full, say
        log.error("%s failed: %s", name, error)
    else:
        log.error("%s failed", name, exc_info=error)
    place = f" ({own})" if (own := own_place(error)) else ""
    return f"{FAILED}{type(error).__name__}: {' '.join(str(error).split())[:200]}{place}"


@dataclass(frozen=True)
class Metric:
    """One number of an evaluation."""

    LARGEST: ClassVar[float] = 1e60  # of absolute values: fourth powers of percentages are finite

    name: str  # as it appears in results
    value: float | None  # in `unit`; None if the metric could not be computed
    reason: str | None  # why it could not be computed; None if it has a value
    count: int  # number of images or queries behind it
    version: str  # library and version, revision of the weights
    # Numbers by position in the caption, with the mean `value`; empty for metrics without them.
    curve: tuple[float, ...] = ()
    # Bounds of the 95% bootstrap interval over images; None for metrics without one.
    interval: tuple[float, float] | None = None
    # ``fraction``, which tables show times 100, as papers print CIDEr too; ``score``, shown with three decimals; or
    # the name of the things it counts, such as ``words``. Empty for a plain number.
    unit: str = ""
    higher_is_better: bool = True  # whether a higher value is better
    detail: bool = False  # whether tables leave it out unless ``task.columns`` names it

    @property
    def failed(self) -> bool:
        """Whether it is absent for an unexpected error."""
        return self.reason is not None and self.reason.startswith(FAILED)

    def __post_init__(self) -> None:
        if (self.value is None) == (self.reason is None):
            raise ValueError(
                f"{self.name} must have either a value or a reason, got {self.value!r} and {self.reason!r}"
            )
        if self.value is not None and not abs(self.value) <= self.LARGEST:  # NaN neither
            raise ValueError(f"{self.name}={self.value} must be at most {self.LARGEST}, or have a reason")


@dataclass(frozen=True)
class Corpus:
    """Candidate and reference captions by image id; every image with a candidate must have references."""

    candidates: Mapping[ImageId, str]
    references: Mapping[ImageId, Sequence[str]]

    def __post_init__(self) -> None:
        lacking = [image for image in self.candidates if not self.references.get(image)]
        if lacking:
            raise ValueError(f"{len(lacking)} images have a candidate but no references, e.g. {lacking[0]!r}")

    def subset(self, images: Sequence[ImageId]) -> "Corpus":
        """Return the corpus of these images only, in this order."""
        return Corpus(
            {image: self.candidates[image] for image in images},
            {image: self.references[image] for image in images},
        )


def library(name: str) -> str:
    """Return ``"name version"`` of an installed library; for pairsift the version that last changed a metric."""
    return f"{name} {METRICS if name == 'pairsift' else version(name)}"
