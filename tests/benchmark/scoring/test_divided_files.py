"""Scores in files that are divided in any way: selected from, joined and combined as one array in memory is."""

from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from scipy.stats import rankdata

from benchmark.core.errors import UserError
from benchmark.core.ties import highest
from benchmark.core.uids import UID_DTYPE, UidArray
from benchmark.core.usage import Seconds
from benchmark.scoring.score_parts import SCORING, write_part
from benchmark.scoring.score_pool import load_parts
from benchmark.scoring.score_table import ScoreTable, join_scores
from benchmark.selection.top_k import select_top_k
from filters.base import Composite, Scores
from filters.composite import Cascade, Columns, Intersect, RankSum, Union
from filters.random import Random
from tests.pools import hashed_uids

WORDS: dict[str, Callable[[int], tuple[int, int]]] = {
    "hashes": lambda n: (n * 0xD6E8FEB86659FD93 % 2**64, n * 0xA0761D6478BD642F % 2**64),
    "consecutive": lambda n: (7, n),
    "consecutive high words": lambda n: (n, 7),
    "few values": lambda n: (n % 6 << 60, n // 6 << 60),
}
SCORE = st.sampled_from([np.nan, np.inf, -np.inf, 0.0, -0.0, 1.0, 2.0]) | st.floats(width=32)
FILE = st.lists(st.tuples(st.integers(0, 40), SCORE), max_size=25)
FILES = st.tuples(st.sampled_from([np.float32, np.float64]), st.lists(FILE, min_size=1, max_size=4))
Files = tuple[type[Any], list[list[tuple[int, float]]]]
KIND = st.sampled_from(sorted(WORDS))
COSTS = {SCORING: Seconds(1.5), "f": Seconds(0.5)}
examples = settings(
    max_examples=20, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)


def uids_of(numbers: list[int], kind: str) -> UidArray:
    words = np.array([WORDS[kind](n) for n in numbers], np.uint64).reshape(-1, 2)
    return words.view(UID_DTYPE).ravel()


@pytest.fixture
def write(tmp_path_factory: pytest.TempPathFactory) -> Callable[[Files, str], ScoreTable]:
    def write_files(files: Files, kind: str) -> ScoreTable:
        folder, paths = tmp_path_factory.mktemp("parts"), list[Path]()
        for number, file in enumerate(files[1]):
            uids, scores = uids_of([n for n, _ in file], kind), np.array([s for _, s in file], files[0])
            paths.append(folder / f"{number}-x.parquet")
            write_part(paths[-1], uids, scores, {"image_missing": number}, COSTS)
        return load_parts(paths)

    return write_files


Write = Callable[[Files, str], ScoreTable]


def best_scores(files: Files, kind: str) -> dict[Any, float]:
    """The best finite score of each uid: NaN without any."""
    best: dict[Any, float] = {}
    for number, score in (pair for file in files[1] for pair in file):
        (uid,) = uids_of([number], kind).tolist()
        best[uid] = float(np.fmax(best.get(uid, np.nan), files[0](score if np.isfinite(score) else np.nan)))
    return best


@examples
@given(FILES, KIND, st.integers(0, 2))
def test_files_are_selected_from_as_one_array_is(write: Write, files: Files, kind: str, seed: int) -> None:
    table, best = write(files, kind), best_scores(files, kind)
    uids = np.array(sorted(best), UID_DTYPE)
    scores = np.array([best[uid] for uid in uids.tolist()], files[0])
    repeated = sum(map(len, files[1])) - len(best)
    drops = +Counter(image_missing=sum(range(len(files[1]))), duplicate_uid=repeated)
    assert (len(table), table.drops, table.cost.clock) == (len(best), drops, 2 * len(files[1]))
    assert table.uids.tolist() == uids.tolist()
    assert np.array_equal(table.scores, scores, equal_nan=True)
    rows = np.flatnonzero(~np.isnan(scores))
    for k in {1, len(rows) // 3 or 1, len(rows)} if len(rows) else ():
        chosen = select_top_k(table, k, seed)
        expected = rows[highest(scores[rows], uids[rows], k, seed)]
        tied = np.flatnonzero(scores == scores[expected].min())
        assert chosen.uids.tolist() == uids[expected].tolist()
        assert chosen.threshold == scores[expected].min()
        assert (chosen.scored, chosen.tied) == (len(rows), len(tied))
        assert chosen.tied_kept == np.isin(tied, expected).sum()
        assert chosen.drops == +(drops + Counter(no_score=len(uids) - len(rows)))
    with pytest.raises(UserError, match=f"but {len(rows):,} have a score"):
        select_top_k(table, len(rows) + 1, 0)


@examples
@given(FILES, FILES, KIND)
def test_files_are_joined_as_dictionaries_are(write: Write, first: Files, second: Files, kind: str) -> None:
    tables = [write(files, kind) for files in (first, second)]
    best = [best_scores(files, kind) for files in (first, second)]
    uids, columns = join_scores(tables)
    assert uids.tolist() == sorted({*best[0], *best[1]})
    for column, scores, table in zip(columns, best, tables, strict=True):
        assert column.dtype == table.scores.dtype
        expected = [scores.get(uid, np.nan) for uid in uids.tolist()]
        assert np.array_equal(column, np.array(expected, column.dtype), equal_nan=True)


def plain_ranks(scores: Scores) -> npt.NDArray[np.float64]:
    ranks, valid = np.full(len(scores), np.nan), ~np.isnan(scores)
    ranks[valid] = rankdata(scores[valid]) / max(valid.sum(), 1)
    return ranks


def plain_cascade(scores: Columns, uids: UidArray, fraction: float, seed: int) -> Scores:
    rows = np.flatnonzero(~np.isnan(scores[0]))
    rows = rows[highest(scores[0][rows], uids[rows], round(fraction * len(rows)), seed)]
    kept = np.full(len(uids), np.nan)
    kept[rows] = scores[1][rows]
    return kept


FILTERS = {"a": Random(0), "b": Random(1)}
COMPOSITES: dict[str, tuple[Composite, Callable[[Columns, UidArray], Scores]]] = {
    "intersect": (Intersect(FILTERS), lambda s, _: np.minimum(*map(plain_ranks, s))),
    "union": (Union(FILTERS), lambda s, _: np.fmax(*map(plain_ranks, s))),
    "rank_sum": (
        RankSum(FILTERS, {"a": 0.3, "b": -0.9}),
        lambda s, _: 0.3 * plain_ranks(s[0]) - 0.9 * plain_ranks(s[1]),
    ),
    "cascade": (Cascade(FILTERS, {"a": "30%"}, 4), lambda s, u: plain_cascade(s, u, 0.3, 4)),
}
PAIR = st.lists(st.tuples(SCORE, SCORE), max_size=60)


@examples
@given(st.sampled_from(sorted(COMPOSITES)), PAIR, st.tuples(*[st.sampled_from([np.float32, np.float64])] * 2))
def test_composites_combine_as_plain_arithmetic_does(
    name: str, pairs: list[tuple[float, float]], dtypes: tuple[type[Any], ...]
) -> None:
    composite, plain = COMPOSITES[name]
    uids = hashed_uids(len(pairs))
    scores = [np.array([pair[n] for pair in pairs], dtype) for n, dtype in enumerate(dtypes)]
    assert np.array_equal(composite.combine(scores, uids), plain(scores, uids), equal_nan=True)
