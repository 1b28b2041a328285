"""Selection: exactly k uids, independent of the order of shards and the number of workers."""

import hashlib
from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from functools import cached_property
from pathlib import Path
from typing import ClassVar

import numpy as np
import numpy.typing as npt

from benchmark.core.batch import NO_SCORE
from benchmark.core.cached_files import intact
from benchmark.core.errors import UserError
from benchmark.core.paths import write_text
from benchmark.core.records import json_text
from benchmark.core.uids import UidArray, unite_uids, write_subset
from benchmark.core.usage import Seconds
from benchmark.engine.base import Engine
from benchmark.pool.pool import Pool
from benchmark.scoring.score_table import ScoreTable
from benchmark.selection.manifest import Manifest
from filters.base import Filter

Rows = npt.NDArray[np.int64]


@dataclass(frozen=True)
class Selection:
    """The k selected uids of each epoch."""

    # The sorted uids of each epoch, repeated in turn by training; a single one if all epochs are the same. A pair
    # that is drawn more than once per epoch is there as often.
    epochs: tuple[UidArray, ...]
    threshold: float  # the lowest score among the selected samples
    scored: int  # how many samples have a score
    tied: int  # how many of these have the score `threshold`
    tied_kept: int  # how many of the tied samples are in at least one epoch
    drops: dict[str, int]  # counts of the other samples by reason
    # Seconds of the workers for all scores behind the selection.
    cost: Seconds = field(default_factory=Seconds)

    def __repr__(self) -> str:
        return f"Selection({len(self.uids):,} of {self.scored:,} pairs, scores from {self.threshold:.4g})"

    @classmethod
    def of_rows(
        cls, table: ScoreTable, epochs: Sequence[Rows], scored: int, drops: dict[str, int]
    ) -> "Selection":
        """Return the selection of the given rows of the table per epoch."""
        uids = tuple(table.uids[np.sort(rows)] for rows in epochs)
        threshold = min(table.scores[rows].min() for rows in epochs) + 0.0  # 0.0 for -0.0, which equals it
        tied = np.flatnonzero(table.scores == threshold)
        tied_kept = np.isin(tied, np.concatenate(epochs)).sum()
        return cls(uids, float(threshold), scored, len(tied), int(tied_kept), drops, table.cost)

    @cached_property
    def uids(self) -> UidArray:
        """The uids of all epochs, sorted, each once."""
        return unite_uids(self.epochs)

    @property
    def sha256(self) -> str:
        """A hash of the selected uids."""
        digest = hashlib.sha256()
        for uids in self.epochs:
            digest.update(np.ascontiguousarray(uids).view(np.uint8).data)
        return digest.hexdigest()


class Selector(ABC):
    """Chooses exactly k samples per epoch by their scores."""

    repeats: ClassVar[bool] = False  # may draw a pair more than once per epoch, so that k may exceed the pool

    def readers(self) -> Sequence[Filter]:
        """Return what it reads of the pool besides the scores, as filters; none by default."""
        return ()

    @abstractmethod
    def select(
        self, table: ScoreTable, k: int, epochs: int, seed: int, pool: Pool, engine: Engine
    ) -> Selection:
        """Select k samples per epoch by their scores in the table. Raises `UserError` if there are fewer than k.

        Args:
            table: the scores of `pool`.
            k: samples per epoch.
            epochs: how many epochs the largest budget needs; a selector may return a single epoch for all.
            seed: random seed of the run: of draws, and of the order of equal scores (see `highest`).
            pool: the pool, for selectors that read more than scores.
            engine: runs what such selectors compute over the pool.
        """


def candidates(table: ScoreTable, k: int) -> tuple[Rows, dict[str, int]]:
    """Return the rows that have a score, and counts of the others by reason. Raises `UserError` for fewer than k."""
    valid = np.flatnonzero(~np.isnan(table.scores))
    return valid, check_scored(table.drops, len(table), len(valid), k, table.pool)


def check_scored(
    drops: Counter[str], count: int, scored: int, k: int, pool: Pool | None = None
) -> dict[str, int]:
    """Add the rest of `count` not `scored` to the `drops`. Raises `UserError` when fewer than k have a score."""
    drops = drops + Counter({NO_SCORE: count - scored})
    if k < 1 or k > scored:
        lost = ", ".join(f"{count:,} {reason}" for reason, count in sorted(drops.items())) or "none dropped"
        largest = scored * (pool.scale if pool else 1)
        remedy = (
            f"choose size={largest} or less"
            if scored
            else "choose another filter, other bounds or another pool"
        )
        raise UserError(f"size asks for {k:,} pairs, but {scored:,} have a score ({lost}); {remedy}")
    return {reason: count for reason, count in drops.items() if count}


def subset_files(path: Path, selection: Selection) -> list[Path]:
    """Return the path of the subset file of each epoch: `path`, or files in its folder if there are several."""
    if len(selection.epochs) == 1:
        return [path]
    return [path.with_stem(f"{path.stem}-epoch{epoch:03d}") for epoch in range(len(selection.epochs))]


def write_selection(path: Path, selection: Selection, manifest: Manifest) -> None:
    """Write the DataComp subset file of each epoch (see `subset_files`), and the ``.json`` manifest.

    In a cache that has both nothing is written: it may be read-only.
    """
    files, record = subset_files(path, selection), path.with_suffix(".json")
    text = json_text(asdict(manifest), indent=2) + "\n"
    if all(map(intact, files)) and record.is_file() and record.read_bytes() == text.encode():
        return
    for file, uids in zip(files, selection.epochs, strict=True):
        write_subset(file, uids)
    write_text(record, text)
