"""Selections within the bounds of a filter, of scores in memory and by whole commands."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from benchmark.core.bounds import Bounds
from benchmark.core.errors import UserError
from benchmark.core.uids import decode_uids, find_uids, read_subset
from benchmark.scoring.score_table import ScoreTable
from benchmark.selection.bounded import select_within
from benchmark.selection.selection import Selection
from benchmark.selection.top_k import select_top_k
from filters.base import Scores
from tests.command_line import Run, assert_one_line
from tests.pools import hashed_uids, rows, write_metadata

UIDS = np.sort(hashed_uids(1000))
SCORES = np.where(np.arange(1000) % 10, np.arange(1000), np.nan).astype(np.float32)


def select(bounds: Bounds, k: int, seed: int = 0, scores: Scores = SCORES) -> tuple[Selection, list[float]]:
    """The selection, and the scores that it keeps, ascending."""
    table = ScoreTable(UIDS, scores)
    selection = select_within(bounds, table, lambda within: select_top_k(within, k, seed))
    return selection, sorted(scores[find_uids(UIDS, selection.uids)].tolist())


def test_pairs_outside_are_never_kept_and_counted() -> None:
    selection, kept = select(Bounds(minimum=101, maximum=119), 18)
    assert kept == [n for n in range(101, 120) if n % 10]
    assert (selection.scored, selection.threshold) == (18, 101)
    assert selection.drops == {
        "no_score": 100,
        "below filter.minimum=101": 90,
        "above filter.maximum=119": 792,
    }
    with pytest.raises(
        UserError, match=r"19 pairs, but 18 have a score \(792 above filter\.maximum=119, 90 below"
    ):
        select(Bounds(minimum=101, maximum=119), 19)


def test_a_bound_is_compared_in_the_precision_of_the_scores() -> None:
    """A file of float32 is read as float64; its .9 is the bound .9, as in a column of the pool."""
    tenths = (np.arange(1000) / 10).astype(np.float32)
    bounds = Bounds(minimum=0.9, maximum=1.3)
    for scores in (tenths, tenths.astype(np.float64), np.arange(1000) / 10):
        _, kept = select(bounds, 5, scores=scores)
        assert kept == pytest.approx([0.9, 1.0, 1.1, 1.2, 1.3])
    assert not bounds.passes(np.array([0.9 - 1e-12, 1e300])).any()
    assert Bounds(minimum=2**24 + 1).passes(2**24 + np.array([0.0, 2.0])).tolist() == [False, True]


def test_the_highest_scores_within_the_bounds_are_kept() -> None:
    selection, kept = select(Bounds(maximum=500), 3)
    assert (kept, selection.threshold) == ([497, 498, 499], 497)


def test_a_filter_that_decides_keeps_another_k_per_seed() -> None:
    bounds = Bounds(minimum=600, rank=False)
    (first, kept), (second, others) = (select(bounds, 50, seed) for seed in (0, 1))
    assert min(kept + others) >= 600
    assert len(set(kept) & set(others)) < 20  # of 360 that pass
    assert np.mean(kept) < 900  # not the highest
    assert (first.threshold, first.tied, first.tied_kept) == (600, 360, 50)
    assert first.drops == second.drops == {"no_score": 100, "below filter.minimum=600": 540}


def test_bounds_are_of_the_measure_where_low_is_good() -> None:
    selection, kept = select(Bounds(minimum=0.5, low_is_good=True), 2, scores=-SCORES / 1000)
    assert kept == pytest.approx([-0.502, -0.501])
    assert "below filter.minimum=0.5" in selection.drops
    bounds = Bounds(maximum=0, low_is_good=True)
    assert bounds.passes(np.array([-0.1, 0.0, 0.1, np.nan])).tolist() == [False, True, True, False]


def test_infinite_scores_pass_without_bounds() -> None:
    assert Bounds(rank=False).passes(np.array([np.inf, -np.inf])).all()


@pytest.fixture
def command(tmp_path: Path) -> list[str]:
    """Selects 8 of 40 pairs."""
    write_metadata(tmp_path / "pool" / "a.parquet", rows(40))
    pool = ["pool=img2dataset", f"pool.url={tmp_path / 'pool'}", "models=demo"]
    return ["task=select", *pool, "engine.workers=1", "size.samples=8", f"results_dir={tmp_path / 'results'}"]


def selected(run: Run, *arguments: str) -> tuple[list[str], dict[str, Any]]:
    """The uids, and the manifest."""
    done = run(*arguments)
    assert done.returncode == 0, done.stderr
    path = Path(done.stdout.splitlines()[-1])
    return decode_uids(read_subset(path)), json.loads(path.with_suffix(".json").read_text())


def test_a_command_with_bounds_records_them(run: Run, command: list[str]) -> None:
    decides = [*command, "filter=random", "filter.minimum=0.5", "filter.rank=false"]
    uids, manifest = selected(run, *decides)
    passing = manifest["scored"]
    random = {"_target_": "filters.random.Random", "seed": 0}
    assert manifest["config"] == random | {"minimum": 0.5, "rank": False}
    assert manifest["drops"] == {"below filter.minimum=0.5": 40 - passing}
    assert (manifest["threshold"], manifest["tied"], manifest["tied_kept"]) == (0.5, passing, 8)
    everything, plain = selected(run, *command, "filter=random", f"size.samples={passing}")
    assert set(uids) < set(everything)
    assert plain["threshold"] >= 0.5
    assert not {"minimum", "rank"} & set(plain["config"])


def test_a_part_of_a_composite_has_its_own_bounds(run: Run, command: list[str]) -> None:
    parts = [f"filter@filter.filters.{name}=random" for name in ("first", "last")]
    first = ["filter.filters.first.minimum=0.5", "filter.filters.first.rank=false"]
    cascade = [*command, "filter=cascade", *parts, *first]
    uids, manifest = selected(run, *cascade, "filter.keep.first=null")
    assert uids == selected(run, *command, "filter=random")[0]
    assert manifest["scored"] == selected(run, *command, "filter=random", "filter.minimum=0.5")[1]["scored"]
    assert_one_line(
        run(*cascade, "filter.keep.first=20"),
        "filter.keep.first=20 keeps none: what passes filter.filters.first scores 1; write",
    )


def test_a_minimum_above_the_maximum_is_one_line(run: Run, command: list[str]) -> None:
    done = run(*command, "filter=random", "filter.minimum=0.5", "filter.maximum=0.2")
    assert_one_line(done, "filter.minimum=0.5 must be at most filter.maximum=0.2")


def test_a_size_is_a_part_or_all_of_the_pairs_that_pass(
    run: Run, command: list[str], caplog: pytest.LogCaptureFixture
) -> None:
    bounded = [*command[:-2], command[-1], "filter=random", "filter.minimum=0.5"]
    uids, manifest = selected(run, *bounded, "size=25%")
    passing = manifest["scored"]
    assert 1 < manifest["k"] == len(uids) == round(passing / 4) < 10
    assert f"size: 25% of the {passing} pairs that pass are {len(uids)}" in caplog.messages
    assert manifest["files"][0].endswith("-25pct-seed0.npy")
    everything, manifest = selected(run, *bounded, "size=all")
    assert set(uids) < set(everything)
    assert len(everything) == manifest["k"] == manifest["scored"] == manifest["distinct"] == passing < 40
    assert manifest["files"][0].endswith("-all-seed0.npy")
    assert len(selected(run, *bounded, "size=0.1%")[0]) == 1, "at least one pair"
