"""Selection: exactly k uids, the same ones whatever the order of shards or the number of workers."""

import hashlib
import json
from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from benchmark.core.batch import NO_SCORE
from benchmark.core.errors import UserError
from benchmark.core.paths import write_text
from benchmark.core.uids import UidArray, unite_uids, write_subset
from benchmark.engine.base import Engine
from benchmark.pool.pool import Pool
from benchmark.scoring.score_pool import ScoreTable

Rows = npt.NDArray[np.int64]


@dataclass(frozen=True)
class Selection:
    """The k uids of each epoch (sorted), the least score among them, and why other samples could not be chosen.

    Epochs take turns; where all are the same there is one. `seconds` is what all scores that it rests on cost.
    """

    epochs: tuple[UidArray, ...]
    threshold: float
    scored: int
    drops: dict[str, int]
    seconds: float = 0.0

    @classmethod
    def of_rows(
        cls, table: ScoreTable, epochs: Sequence[Rows], scored: int, drops: dict[str, int]
    ) -> "Selection":
        """Return the selection of the table's rows, for each epoch those of its own."""
        threshold = min(float(table.scores[rows].min()) for rows in epochs)
        uids = tuple(table.uids[np.sort(rows)] for rows in epochs)
        return cls(uids, threshold, scored, drops, table.seconds)

    @cached_property
    def uids(self) -> UidArray:
        """All uids of any epoch, sorted, each once."""
        if len(self.epochs) == 1:
            return self.epochs[0]
        return unite_uids(self.epochs)

    @property
    def sha256(self) -> str:
        """A hash of the chosen uids."""
        return hashlib.sha256(b"".join(uids.tobytes() for uids in self.epochs)).hexdigest()


class Selector(ABC):
    """Chooses exactly k samples by their scores, for every epoch."""

    @abstractmethod
    def select(self, table: ScoreTable, k: int, epochs: int, pool: Pool, engine: Engine) -> Selection:
        """Return the selection of k from the scores of `pool`, for as many epochs as the budget needs.

        Raises `UserError` when fewer than k samples can be chosen.
        """


class Best(Selector):
    """The k best scores, in every epoch."""

    def select(self, table: ScoreTable, k: int, epochs: int, pool: Pool, engine: Engine) -> Selection:
        """Choose the k best scores; scores are all that counts."""
        return select_best(table, k)


def select_best(table: ScoreTable, k: int) -> Selection:
    """Choose the k best scores; ties go to the smaller uid, NaN is never chosen.

    Raises `UserError` when fewer than k samples have a score. Infinities are scores like any other.
    """
    valid, drops = candidates(table, k)
    scores = table.scores[valid]
    threshold = np.partition(scores, len(scores) - k)[len(scores) - k]
    above = np.flatnonzero(scores > threshold)
    # The table is sorted by uid, so the first ties are those with the smallest uids.
    ties = np.flatnonzero(scores == threshold)[: k - len(above)]
    return Selection.of_rows(table, [valid[np.concatenate([above, ties])]], len(valid), drops)


def candidates(table: ScoreTable, k: int) -> tuple[Rows, dict[str, int]]:
    """Return the rows that have a score, and by reason how many samples have none.

    Raises `UserError` when they are fewer than k.
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
    return valid, {reason: count for reason, count in drops.items() if count}


@dataclass(frozen=True)
class Manifest:
    """What a subset file is: which pool, filter, selector and size made it, and what was dropped on the way.

    `files` names the subset file of each epoch; `distinct` counts the samples in any of them.
    """

    pool: str
    filter: str
    config: dict[str, Any]
    k: int
    threshold: float
    scored: int
    drops: dict[str, int]
    sha256: str
    distinct: int
    files: list[str]
    selector: str
    selector_config: dict[str, Any]
    versions: dict[str, str] = field(default_factory=dict)


def subset_files(path: Path, selection: Selection) -> list[Path]:
    """Return where the subset file of each epoch is written: `path`, or one beside it for each of several."""
    if len(selection.epochs) == 1:
        return [path]
    return [path.with_stem(f"{path.stem}-epoch{epoch:03d}") for epoch in range(len(selection.epochs))]


def write_selection(path: Path, selection: Selection, manifest: Manifest) -> None:
    """Write the DataComp file of each epoch, see `subset_files`, and their manifest beside them as ``.json``."""
    for file, uids in zip(subset_files(path, selection), selection.epochs, strict=True):
        write_subset(file, uids)
    write_text(path.with_suffix(".json"), json.dumps(asdict(manifest), indent=2) + "\n")
