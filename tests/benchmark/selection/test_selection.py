import itertools
import json
from dataclasses import replace

import numpy as np
import pytest

from benchmark.core.errors import UserError
from benchmark.core.uids import decode_uids, encode_uids, make_uid, read_subset
from benchmark.core.usage import Seconds
from benchmark.scoring.score_parts import SCORING
from benchmark.scoring.score_table import ScoreTable
from benchmark.selection.selection import Selection, write_selection
from benchmark.selection.top_k import select_top_k
from tests.benchmark.results.report.made_results import result
from tests.pools import numbered_uids


def table(scores, seed: int = 0) -> ScoreTable:
    uids = np.sort(encode_uids([make_uid(str(seed), str(i)) for i in range(len(scores))]))
    return ScoreTable(uids, np.asarray(scores, np.float32))


def test_a_selection_costs_what_its_scores_did() -> None:
    scored = table([1.0, 2.0])
    scored.costs = {SCORING: Seconds(3.0, 1.5), "clip": Seconds(1.0, 0.5)}
    assert select_top_k(scored, 1, seed=0).cost == Seconds(4.0, 2.0)


def test_of_equal_scores_every_seed_keeps_others() -> None:
    uids = numbered_uids(20_000)  # sequential, as in many pools
    chosen = [select_top_k(ScoreTable(uids, np.ones(20_000, np.float32)), 2000, s) for s in range(3)]
    for one in chosen:
        parts = np.histogram(np.flatnonzero(np.isin(uids["f1"], one.uids["f1"])), 10, (0, 20_000))[0]
        assert parts == pytest.approx(np.full(10, 200), abs=60)
    for one, other in itertools.combinations(chosen, 2):
        assert len(np.intersect1d(one.uids["f1"], other.uids["f1"])) == pytest.approx(200, abs=60)


@pytest.mark.parametrize("k", [0, -1, 4, 10])
def test_an_impossible_size_names_what_was_dropped(k: int) -> None:
    with pytest.raises(UserError, match=r"3 have a score \(1 no_score\)"):
        select_top_k(table([1, 2, 3, np.nan]), k, 0)


def test_ties_of_all_epochs_are_counted_once() -> None:
    chosen = Selection.of_rows(table([2, 2, 2, 5, 1]), [np.array([0, 3]), np.array([1, 3])], 5, {})
    assert (chosen.threshold, chosen.tied, chosen.tied_kept) == (2, 3, 2)


def test_each_epoch_has_its_own_subset_file(tmp_path) -> None:
    scored = table(range(10))
    chosen = Selection.of_rows(scored, [np.array([5, 3]), np.array([3, 9])], 10, {})
    assert decode_uids(chosen.uids) == decode_uids(scored.uids[[3, 5, 9]])
    assert chosen.threshold == 3
    assert chosen.sha256 != Selection.of_rows(scored, [np.array([3, 9]), np.array([5, 3])], 10, {}).sha256
    write_selection(tmp_path / "s.npy", chosen, replace(result("clip").selection, sha256=chosen.sha256))
    assert sorted(path.name for path in tmp_path.iterdir()) == [
        "s-epoch000.npy", "s-epoch001.npy", "s.json",
    ]  # fmt: skip
    assert decode_uids(read_subset(tmp_path / "s-epoch001.npy")) == decode_uids(scored.uids[[3, 9]])
    assert json.loads((tmp_path / "s.json").read_text())["sha256"] == chosen.sha256
