"""Scores joined shard by shard, and composites over them, against everything at once in dictionaries and numpy."""

import tracemalloc
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from scipy.stats import rankdata

from benchmark.core.pool_scores import Columns, PoolScores
from benchmark.core.ties import highest
from benchmark.core.uids import UidArray, UidIndex
from benchmark.scoring import joined_scores, repeated_uids
from benchmark.scoring.joined_scores import JoinedScores
from benchmark.scoring.score_parts import write_part
from benchmark.scoring.score_pool import load_parts
from benchmark.scoring.score_table import ArraySource, ScoreSource
from filters.base import Scores
from filters.composite import Cascade, Intersect, OverPool, RankSum, Union
from filters.random import Random
from tests.benchmark.selection.test_selection_of_parts import plain_sort, random_scores, random_uids
from tests.pools import hashed_uids

FILTERS = {"a": Random(0), "b": Random(1)}
Rows = dict[tuple[int, int], float]


def write_sources(folder: Path, rng: np.random.Generator) -> list[ScoreSource]:
    """The scores of two filters: parts of the same shards, alike or not, of tars and metadata, or arrays."""
    known, alike = random_uids(rng, 150), rng.random() < 0.5
    sources: list[ScoreSource] = []
    shards = [rng.choice(known, 40, replace=bool(rng.integers(2))) for _ in range(4)]
    for number in range(2):
        paths = []
        for shard, uids in enumerate(shards):
            if not alike:
                uids = rng.choice(uids, int(rng.integers(0, 40)), replace=False)
                if rng.random() < 0.2:
                    continue
            kind = "tar" if not alike and number else "metadata"
            paths.append(folder / f"{number}" / f"{shard}-{kind}.parquet")
            write_part(paths[-1], uids, random_scores(rng, len(uids)), {}, {})
        if paths:
            source = load_parts(paths).source
            sources.append(source if rng.random() < 0.8 else ArraySource(*source.arrays()))
    return sources


def write_divided(
    folder: Path, rng: np.random.Generator, of_tars: UidArray, of_metadata: UidArray, size: int
) -> list[ScoreSource]:
    """The scores of two filters, in files that are divided and named differently."""
    sources: list[ScoreSource] = []
    for kind, uids, rows in (("tar", of_tars, size), ("metadata", of_metadata, size * 3 // 2)):
        paths = []
        for some in np.split(uids, range(rows, len(uids), rows)):
            paths.append(folder / f"{kind}{len(paths)}-{kind}.parquet")
            write_part(paths[-1], some, random_scores(rng, len(some)), {}, {})
        sources.append(load_parts(paths).source)
    return sources


def plain_join(
    sources: list[ScoreSource], among: set[Any] | None
) -> tuple[UidArray, list[Scores], list[str]]:
    """Uids, sorted, each source's scores, and the first file of each, by dictionaries."""
    tables: list[Rows] = [{} for _ in sources]
    files = list(dict.fromkeys(file for source in sources for file in source.files))
    first: dict[tuple[int, int], str] = {}
    for file in reversed(files):
        for table, source in zip(tables, sources, strict=True):
            for uid, score in (
                zip(*(a.tolist() for a in source.read(file)), strict=True) if file in source.files else ()
            ):
                first[uid] = file
                table[uid] = float(np.fmax(table.get(uid, np.nan), score))
    wanted = sorted(uid for uid in first if among is None or uid in among)
    columns = [
        np.array([table.get(uid, np.nan) for uid in wanted], source.dtype)
        for table, source in zip(tables, sources, strict=True)
    ]
    return np.array(wanted, "u8,u8"), columns, [first[uid] for uid in wanted]


@pytest.mark.parametrize("trial", range(30))
def test_parts_are_joined_as_dictionaries_are(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, trial: int
) -> None:
    monkeypatch.setattr(repeated_uids, "HASHES_AT_ONCE", 8)
    rng = np.random.default_rng(trial)
    check_join(write_sources(tmp_path, rng), rng)


@pytest.mark.parametrize("trial", range(20))
def test_differently_divided_parts_are_joined_as_dictionaries_are(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, trial: int
) -> None:
    monkeypatch.setattr(joined_scores, "ROWS", 40)
    rng = np.random.default_rng(trial)
    known = random_uids(rng, int(rng.integers(1, 150)))
    others = rng.choice(known, 80) if trial % 2 else rng.permutation(known)
    check_join(write_divided(tmp_path, rng, known, others, 19), rng)


def check_join(sources: list[ScoreSource], rng: np.random.Generator) -> None:
    some = rng.choice(sources[0].arrays()[0], 30) if rng.integers(2) and len(sources[0]) else None
    joined = JoinedScores(sources, None if some is None else UidIndex(np.unique(some)))
    uids, columns, files = plain_join(sources, None if some is None else set(some.tolist()))
    blocks = list(joined.blocks())
    found = np.concatenate([block.uids for block in blocks])
    order = plain_sort(found)
    assert found[order].tolist() == uids.tolist()
    for number, column in enumerate(columns):
        scores = np.concatenate([block.columns[number] for block in blocks])
        assert scores.dtype == column.dtype
        assert np.array_equal(scores[order], column, equal_nan=True)
    by_file = {
        file: (ids.tolist(), scores) for file, ids, scores in joined.by_file(lambda scores, _: scores[0])
    }
    assert sorted(by_file) == sorted(joined.files)
    for file, (ids, scores) in by_file.items():
        rows = [row for row, first in enumerate(files) if first == file]
        assert ids == uids[rows].tolist()
        assert np.array_equal(scores, columns[0][rows], equal_nan=True)


def test_differently_divided_parts_are_joined_in_bounded_memory(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(joined_scores, "ROWS", 1000)
    peaks = []
    for rows in (4_000, 16_000):
        rng, uids = np.random.default_rng(0), hashed_uids(rows)
        sources = write_divided(tmp_path / str(rows), rng, uids, rng.permutation(uids), 500)
        tracemalloc.start()
        joined = JoinedScores(sources)
        assert sum(len(uids) for _, uids, _ in joined.by_file(lambda scores, _: scores[0])) == rows
        peaks.append(tracemalloc.get_traced_memory()[1])
        tracemalloc.stop()
    assert peaks[1] < 1.5 * peaks[0]


def plain_ranks(scores: Scores) -> npt.NDArray[np.float64]:
    ranks, valid = np.full(len(scores), np.nan), ~np.isnan(scores)
    ranks[valid] = rankdata(scores[valid]) / max(valid.sum(), 1)
    return ranks


def plain_cascade(scores: Columns, uids: UidArray, share: float, seed: int) -> Scores:
    rows = np.flatnonzero(~np.isnan(scores[0]))
    rows = rows[highest(scores[0][rows], uids[rows], round(share * len(rows)), seed)]
    kept = np.full(len(uids), np.nan)
    kept[rows] = scores[1][rows]
    return kept


COMPOSITES = {
    "intersect": (Intersect(FILTERS), lambda s, _: np.minimum(*map(plain_ranks, s))),
    "union": (Union(FILTERS), lambda s, _: np.fmax(*map(plain_ranks, s))),
    "rank_sum": (
        RankSum(FILTERS, {"a": 0.3, "b": -0.9}),
        lambda s, _: 0.3 * plain_ranks(s[0]) - 0.9 * plain_ranks(s[1]),
    ),
    "cascade": (Cascade(FILTERS, {"a": "30%"}, 4), lambda s, u: plain_cascade(s, u, 0.3, 4)),
}


@pytest.mark.parametrize("name", COMPOSITES)
def test_blocks_are_combined_as_the_whole_pool_is(tmp_path: Path, name: str) -> None:
    composite, plain = COMPOSITES[name]
    assert isinstance(composite, OverPool)
    for trial in range(20):
        rng = np.random.default_rng(trial)
        count = int(rng.integers(0, 200))
        uids = np.unique(random_uids(rng, count))
        scores = [random_scores(rng, len(uids)), random_scores(rng, len(uids))]
        rows = np.split(rng.permutation(len(uids)), range(0, len(uids), 17))
        blocks = [([column[r] for column in scores], uids[r]) for r in rows]
        pool = PoolScores(lambda blocks=blocks: iter(blocks), [s.dtype for s in scores], tmp_path)  # type: ignore[misc]
        combine, combined = composite.over(pool), np.empty(len(uids))
        for r, block in zip(rows, blocks, strict=True):
            combined[r] = combine(*block)
        assert np.array_equal(combined, plain(scores, uids), equal_nan=True)
        assert np.array_equal(composite.combine(scores, uids), combined, equal_nan=True)
    assert not list(tmp_path.iterdir())
