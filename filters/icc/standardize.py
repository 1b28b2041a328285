"""Standardisation of similarities by caption length (ICC paper, appendix A.1, Figure 5)."""

import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt

from benchmark.core.errors import UserError
from benchmark.core.paths import write_text

Array = npt.NDArray[np.float32]
CLIP = 1e-4  # similarities are clipped this far from 0 and 1, whose logits are infinite
MIN_COUNT = 100  # captions per bin, for a stable mean and standard deviation


def caption_length(caption: str) -> int:
    """Return the number of words. The unit is our reading: the paper only says "caption length"."""
    return len(caption.split())


@dataclass(frozen=True)
class Standardizer:
    """Mean (less what is added to it) and standard deviation of the similarities' logits, per range of lengths.

    Bin i holds the lengths from `starts[i]` to `starts[i + 1]`, exclusive; the last bin is unbounded.
    """

    starts: tuple[int, ...]
    means: tuple[float, ...]
    spreads: tuple[float, ...]

    def __call__(self, captions: Sequence[str], similarities: Array) -> Array:
        """Return scores of shape (n,), from 0 to 1; in every bin logit-normal with the same median and sigma."""
        lengths = np.array([caption_length(caption) for caption in captions], np.int64)
        bins = np.maximum(np.searchsorted(self.starts, lengths, side="right") - 1, 0)
        z = (_logit(similarities) - np.take(self.means, bins)) / np.take(self.spreads, bins)
        return np.asarray(1 / (1 + np.exp(-z)), np.float32)

    def save(self, path: Path) -> None:
        """Write the table as JSON."""
        write_text(path, json.dumps(asdict(self), indent=2) + "\n")


def standardizer_file(measure: str) -> str:
    """Return the file name of the standardizer for a similarity measure."""
    return f"standardizer-{measure}.json"


def load_standardizer(path: Path) -> Standardizer:
    """Read the table that `save` wrote. Raises `UserError` when it is missing or invalid."""
    try:
        table = json.loads(path.read_text(encoding="utf-8"))
        return Standardizer(
            tuple(int(v) for v in table["starts"]),
            tuple(float(v) for v in table["means"]),
            tuple(float(v) for v in table["spreads"]),
        )
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise UserError(f"{path} must hold a standardizer ({error}); task=icc_build writes one") from None


def fit_standardizer(
    captions: Sequence[str], similarities: Array, min_count: int = MIN_COUNT, mu: float = 0.0
) -> Standardizer:
    """Fit the table on similarities of shape (n,), to scores whose logits have mean `mu` and standard deviation 1.

    The paper's LN(mu = 0.5) is read as the median of the scores, which is `mu` = 0; `mu` = 0.5 has the median 0.62.
    Lengths are added to a bin in increasing order until it holds `min_count` captions, so sparse lengths share a bin;
    a remainder joins the last bin. A bin of zero variance is only centred.
    The paper prints the logit as ln(1 / (1 - p)); ln(p / (1 - p)) is meant.
    """
    lengths = np.array([caption_length(caption) for caption in captions], np.int64)
    logits = _logit(similarities)
    starts = _bins(lengths, min_count)
    bins = np.searchsorted(starts, lengths, side="right") - 1
    groups = [logits[bins == i] for i in range(len(starts))]
    spreads = tuple(float(group.std()) or 1.0 for group in groups)
    means = (float(group.mean()) - mu * spread for group, spread in zip(groups, spreads, strict=True))
    return Standardizer(tuple(starts), tuple(means), spreads)


def _bins(lengths: npt.NDArray[np.int64], min_count: int) -> list[int]:
    """Return the first length of each bin."""
    if not len(lengths):
        raise UserError(
            "icc.scoring_captions: at least one caption is needed for standardisation; give a larger set"
        )
    starts: list[int] = []
    count_in_bin = min_count
    for length, count in zip(*np.unique(lengths, return_counts=True), strict=True):
        if count_in_bin >= min_count:
            starts.append(int(length))
            count_in_bin = 0
        count_in_bin += int(count)
    if count_in_bin < min_count and len(starts) > 1:
        starts.pop()
    return starts


def _logit(similarities: Array) -> npt.NDArray[np.float64]:
    p = np.clip(similarities.astype(np.float64), CLIP, 1 - CLIP)
    return np.asarray(np.log(p / (1 - p)))
