"""Similarities that no longer depend on the caption's length (ICC paper, appendix A.1, Figure 5)."""

import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt

from benchmark.core.errors import UserError
from benchmark.core.paths import write_text

Array = npt.NDArray[np.float32]
CLIP = 1e-4  # a similarity of exactly 0 or 1 has no logit
MIN_COUNT = 100  # captions that a bin needs for a mean and a spread of its own


def caption_length(caption: str) -> int:
    """Return the number of words: what the paper standardises by."""
    return len(caption.split())


@dataclass(frozen=True)
class Standardizer:
    """Mean and spread of the similarities' logits for each range of lengths.

    Bin i holds the lengths from `starts[i]` to before `starts[i + 1]`; the last has no end.
    """

    starts: tuple[int, ...]
    means: tuple[float, ...]
    spreads: tuple[float, ...]

    def __call__(self, captions: Sequence[str], similarities: Array) -> Array:
        """Return scores of shape (n,), 0 to 1: in every bin logit-normal with median 0.5 and sigma 1."""
        lengths = np.array([caption_length(caption) for caption in captions], np.int64)
        bins = np.maximum(np.searchsorted(self.starts, lengths, side="right") - 1, 0)
        z = (_logit(similarities) - np.take(self.means, bins)) / np.take(self.spreads, bins)
        return np.asarray(1 / (1 + np.exp(-z)), np.float32)

    def save(self, path: Path) -> None:
        """Write the table as JSON."""
        write_text(path, json.dumps(asdict(self), indent=2) + "\n")


def load_standardizer(path: Path) -> Standardizer:
    """Read what `save` wrote. Raises `UserError` when it is no such table."""
    try:
        table = json.loads(path.read_text(encoding="utf-8"))
        return Standardizer(
            tuple(int(v) for v in table["starts"]),
            tuple(float(v) for v in table["means"]),
            tuple(float(v) for v in table["spreads"]),
        )
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise UserError(f"{path} is no standardizer ({error}); task=icc_build writes one") from None


def fit_standardizer(
    captions: Sequence[str], similarities: Array, min_count: int = MIN_COUNT
) -> Standardizer:
    """Fit the table on similarities of shape (n,).

    Lengths are taken in order; a bin is closed once it holds `min_count` captions, so sparse lengths share one,
    and what is left at the end joins the last. A bin without spread (one caption in all) is only centred.
    The paper prints the logit as ln(1 / (1 - p)); ln(p / (1 - p)) is meant.
    """
    lengths = np.array([caption_length(caption) for caption in captions], np.int64)
    logits = _logit(similarities)
    starts = _bins(lengths, min_count)
    bins = np.searchsorted(starts, lengths, side="right") - 1
    groups = [logits[bins == i] for i in range(len(starts))]
    return Standardizer(
        tuple(starts),
        tuple(float(group.mean()) for group in groups),
        tuple(float(group.std()) or 1.0 for group in groups),
    )


def _bins(lengths: npt.NDArray[np.int64], min_count: int) -> list[int]:
    """Return the first length of each bin."""
    if not len(lengths):
        raise UserError("there are no captions to standardise; give a larger set")
    starts: list[int] = []
    held = min_count
    for length, count in zip(*np.unique(lengths, return_counts=True), strict=True):
        if held >= min_count:
            starts.append(int(length))
            held = 0
        held += int(count)
    if held < min_count and len(starts) > 1:
        starts.pop()
    return starts


def _logit(similarities: Array) -> npt.NDArray[np.float64]:
    p = np.clip(similarities.astype(np.float64), CLIP, 1 - CLIP)
    return np.asarray(np.log(p / (1 - p)))
