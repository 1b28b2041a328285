"""Selection from score parts, block by block, against all of them at once in plain numpy."""

import time
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow.parquet as pq
import pytest

from benchmark.core import ties
from benchmark.core.counting import ScoreCounts
from benchmark.core.errors import UserError
from benchmark.core.ties import HighestHashes, hash_uids, highest
from benchmark.core.uids import UID_DTYPE, UidArray, are_sorted, first_of_each, sort_uids
from benchmark.core.usage import Seconds
from benchmark.scoring import repeated_uids
from benchmark.scoring.score_parts import SCORING, read_part, read_part_info, write_part
from benchmark.scoring.score_pool import load_parts
from benchmark.selection.top_k import select_top_k
from tests.pools import hashed_uids

Scores = npt.NDArray[Any]
COSTS = {SCORING: Seconds(1.5), "f": Seconds(0.5)}


def plain_sort(uids: UidArray) -> npt.NDArray[np.int64]:
    return np.lexsort((uids["f1"], uids["f0"]))


def plain_table(paths: list[Path]) -> tuple[UidArray, Scores, Counter[str]]:
    """All parts in one array, sorted; a uid that occurs twice counts once, with its best score."""
    drops = sum((read_part_info(path).drops for path in paths), Counter[str]())
    uids, scores = map(np.concatenate, zip(*map(read_part, paths), strict=True))
    order = plain_sort(uids)
    uids, scores = uids[order], scores[order]
    starts = np.flatnonzero(first_of_each(uids))
    drops["duplicate_uid"] += len(uids) - len(starts)
    return uids[starts], np.fmax.reduceat(scores, starts), +drops


def plain_selection(
    uids: UidArray, scores: Scores, k: int, seed: int
) -> tuple[list[Any], float, int, int, int]:
    """The k highest of all: uids, threshold, scored, tied, tied_kept."""
    rows = np.flatnonzero(~np.isnan(scores))
    chosen = rows[highest(scores[rows], uids[rows], k, seed)]
    threshold = scores[chosen].min()
    tied = np.flatnonzero(scores == threshold)
    return (
        uids[chosen].tolist(), float(threshold), len(rows), len(tied), int(np.isin(tied, chosen).sum())
    )  # fmt: skip


def random_uids(rng: np.random.Generator, count: int) -> UidArray:
    """Random, or consecutive numbers in one of the words, or of few values."""
    words = rng.integers(0, 2**64, (count, 2), dtype=np.uint64)
    kind = rng.integers(4)
    if kind < 2:
        words[:, kind] = 7
        words[:, 1 - kind] = rng.permutation(count)
    if kind == 2:
        words = rng.integers(0, 6, (count, 2), dtype=np.uint64) << np.uint64(60)
    return words.view(UID_DTYPE).ravel()


def random_scores(rng: np.random.Generator, count: int) -> Scores:
    """Distinct, tied or equal; with NaN, infinities and both zeros; float32 or float64."""
    dtype = rng.choice([np.float32, np.float64])
    scores = rng.normal(size=count).astype(dtype) * dtype(rng.choice([1e-300, 1e-40, 1, 1e30]))
    if rng.random() < 0.5:
        scores = rng.integers(-2, rng.integers(0, 5), count).astype(dtype)
    odd = rng.random(count)
    for number, value in enumerate((np.nan, np.inf, -np.inf, 0.0, -0.0)):
        scores[odd < (5 - number) * rng.choice([0, 0.02])] = value
    return scores


@pytest.fixture
def small_steps(monkeypatch: pytest.MonkeyPatch) -> None:
    """Row groups of 11 rows, 8 hashes in memory at once, few spare ties."""
    plain = pq.write_table
    monkeypatch.setattr(pq, "write_table", lambda *args, **kwargs: plain(*args, **kwargs, row_group_size=11))
    monkeypatch.setattr(repeated_uids, "HASHES_AT_ONCE", 8)
    monkeypatch.setattr(ties, "_SPARE", 2)


@pytest.mark.parametrize("trial", range(40))
def test_parts_are_selected_from_as_one_array_is(tmp_path: Path, small_steps: None, trial: int) -> None:
    rng = np.random.default_rng(trial)
    known = random_uids(rng, 120)
    paths = []
    for number in range(rng.integers(1, 5)):
        count = int(rng.integers(0, 50)) if number else 40
        uids = rng.choice(known, count, replace=bool(rng.integers(2)))
        paths.append(tmp_path / f"{number}.parquet")
        write_part(paths[-1], uids, random_scores(rng, count), {"image_missing": number}, COSTS)
    table = load_parts(paths)
    uids, scores, drops = plain_table(paths)
    assert (len(table), table.drops, table.cost.clock) == (len(uids), drops, 2 * len(paths))
    assert table.uids.tolist() == uids.tolist()
    assert np.array_equal(table.scores, scores, equal_nan=True)
    assert table.scores.dtype == scores.dtype
    scored = int((~np.isnan(scores)).sum())
    for k in {1, scored // 3 or 1, scored} if scored else ():
        seed = int(rng.integers(3))
        chosen = select_top_k(table, k, seed)
        kept = (chosen.uids.tolist(), chosen.threshold, chosen.scored, chosen.tied, chosen.tied_kept)
        assert kept == plain_selection(uids, scores, k, seed)
        assert chosen.drops == +(drops + Counter(no_score=len(uids) - scored))
    with pytest.raises(UserError, match=f"but {scored:,} have a score"):
        select_top_k(table, scored + 1, 0)


@pytest.mark.parametrize("trial", range(20))
def test_uids_are_sorted_as_pairs_of_words(trial: int) -> None:
    rng = np.random.default_rng(trial)
    uids = random_uids(rng, int(rng.integers(0, 300)))
    order = sort_uids(uids)
    assert order.tolist() == plain_sort(uids).tolist()
    assert are_sorted(uids[order])
    assert are_sorted(uids) == (uids[order] == uids).all()


def test_the_threshold_is_that_of_a_sort_over_all_magnitudes() -> None:
    rng = np.random.default_rng(0)
    for dtype in (np.float32, np.float64):
        whole = np.frombuffer(rng.bytes(4000 * np.dtype(dtype).itemsize), dtype)  # any bits at all
        counts = ScoreCounts(lambda whole=whole: iter(np.split(whole, [0, 1000, 1001])), dtype)  # type: ignore[misc]
        ranked = np.sort(whole[~np.isnan(whole)])[::-1]
        assert counts.scored == len(ranked)
        for k in (1, 2, 1000, len(ranked)):
            assert counts.kth_highest(k).score == ranked[k - 1]


@pytest.mark.parametrize("count", [1, 30, 999, 1000])
def test_ties_are_kept_in_bounded_memory_as_all_at_once(count: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ties, "_SPARE", 20)
    uids = hashed_uids(1000)
    kept = HighestHashes(count, 3)
    for some in np.split(uids, range(90, 1000, 90)):
        kept.add(some)
        assert kept._held <= 1.25 * count + 20 + 90
    everything = highest(np.zeros(1000, np.float32), uids, count, 3)
    assert sorted(kept.uids().tolist()) == sorted(uids[everything].tolist())


def test_of_two_uids_with_one_hash_the_lower_one_is_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ties, "hash_uids", lambda uids, seed: hash_uids(uids, seed) % np.uint64(5))
    uids = np.sort(hashed_uids(200))
    kept = HighestHashes(70, 3)
    for some in np.split(uids[::-1], 4):
        kept.add(some)
    expected = uids[highest(np.zeros(200, np.float32), uids, 70, 3)]
    assert np.sort(kept.uids()).tolist() == expected.tolist()


def repeated_seconds(blocks: int) -> float:
    """Processor seconds to group 100,000 rows, of which each uid is there twice, by block."""
    uids = np.repeat(np.sort(hashed_uids(50_000)), 2)
    numbers = np.array_split(np.arange(len(uids)), blocks)
    found = [(n, rows, (uids[rows], rows.astype(np.float32))) for n, rows in enumerate(numbers)]
    started = time.process_time()
    assert repeated_uids._group(found).superfluous == 50_000
    return time.process_time() - started


def test_repeated_uids_are_grouped_in_linear_time() -> None:
    assert min(repeated_seconds(4000) for _ in range(3)) < 4 * min(repeated_seconds(20) for _ in range(3))
