"""Selection: exactly k uids, the same ones whatever the order of shards or the number of workers."""

import hashlib
import json
from collections import Counter
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from benchmark.batch import NO_SCORE
from benchmark.errors import UserError
from benchmark.paths import write_text
from benchmark.scores import ScoreTable
from benchmark.uids import UidArray, write_subset


@dataclass(frozen=True)
class Selection:
    """The k chosen uids (sorted), the least score among them, and why other samples could not be chosen."""

    uids: UidArray
    threshold: float
    scored: int
    drops: dict[str, int]

    @property
    def sha256(self) -> str:
        """A hash of the chosen uids."""
        return hashlib.sha256(self.uids.tobytes()).hexdigest()


def select(table: ScoreTable, k: int) -> Selection:
    """Choose the k best scores; ties go to the smaller uid, NaN is never chosen.

    Raises `UserError` when fewer than k samples have a score. Infinities are scores like any other.
    """
    valid = np.flatnonzero(~np.isnan(table.scores))
    drops = Counter(table.drops)
    if len(valid) < len(table.scores):
        drops[NO_SCORE] += len(table.scores) - len(valid)
    if k < 1 or k > len(valid):
        lost = ", ".join(f"{count:,} {reason}" for reason, count in sorted(drops.items())) or "none dropped"
        raise UserError(
            f"size asks for {k:,} pairs, but {len(valid):,} have a score ({lost}); choose a size from 1 to that"
        )
    scores = table.scores[valid]
    threshold = np.partition(scores, len(scores) - k)[len(scores) - k]
    above = np.flatnonzero(scores > threshold)
    # The table is sorted by uid, so the first ties are those with the smallest uids.
    ties = np.flatnonzero(scores == threshold)[: k - len(above)]
    chosen = valid[np.sort(np.concatenate([above, ties]))]
    return Selection(table.uids[chosen], float(threshold), len(valid), dict(drops))


@dataclass(frozen=True)
class Manifest:
    """What a subset file is: which pool, filter and size made it, and what was dropped on the way."""

    pool: str
    filter: str
    config: dict[str, Any]
    k: int
    threshold: float
    scored: int
    drops: dict[str, int]
    sha256: str
    versions: dict[str, str] = field(default_factory=dict)


def write_selection(path: Path, selection: Selection, manifest: Manifest) -> None:
    """Write the DataComp subset file at `path`, and its manifest beside it as ``.json``."""
    write_subset(path, selection.uids)
    write_text(path.with_suffix(".json"), json.dumps(asdict(manifest), indent=2) + "\n")
