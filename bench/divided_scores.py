"""Scores of two filters with differently divided files, like DataComp's tars and metadata."""

from collections.abc import Iterator
from pathlib import Path

import numpy as np

from benchmark.core.uids import UID_DTYPE, UidArray
from benchmark.scoring.score_parts import write_part
from benchmark.scoring.score_pool import load_parts
from benchmark.scoring.score_table import join_scores
from filters.column import Column
from filters.composite import RankSum

ROWS = {"tar": 10_000, "metadata": 25_000}  # of a file


def write_divided(folder: str, pairs: int) -> None:
    """Write random scores of the same pairs to files of two kinds, in two orders."""
    rng = np.random.default_rng(0)
    uids = rng.integers(0, 2**64, (pairs, 2), dtype=np.uint64).view(UID_DTYPE).ravel()
    for kind in ROWS:
        _write(Path(folder) / kind, kind, rng.permutation(uids), rng)


def _write(folder: Path, kind: str, uids: UidArray, rng: np.random.Generator) -> None:
    for start in range(0, len(uids), ROWS[kind]):
        some = uids[start : start + ROWS[kind]]
        path = folder / f"{kind}{start:09d}-{kind}.parquet"
        write_part(path, some, rng.random(len(some), np.float32), {}, {})


def sum_of_ranks(folder: str) -> Iterator[None]:
    """Sum the ranks by the two scores, file by file."""
    tables = [load_parts(sorted((Path(folder) / kind).iterdir())) for kind in ROWS]
    scorer = RankSum({kind: Column(kind) for kind in ROWS}, dict.fromkeys(ROWS, 1.0))
    yield
    uids, columns = join_scores(tables)
    scorer.combine(columns, uids)
