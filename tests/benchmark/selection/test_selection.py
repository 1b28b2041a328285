import json
from collections import Counter

import numpy as np
import pytest

from benchmark.core.errors import UserError
from benchmark.core.uids import decode_uids, encode_uids, make_uid, read_subset
from benchmark.scoring.score_pool import ScoreTable
from benchmark.selection.selection import Manifest, Selection, write_selection
from benchmark.selection.top_k import select_top_k


def table(scores, seed: int = 0) -> ScoreTable:
    uids = np.sort(encode_uids([make_uid(str(seed), str(i)) for i in range(len(scores))]))
    return ScoreTable(uids, np.asarray(scores, np.float32), Counter())


def naive(scored: ScoreTable, k: int) -> list[str]:
    pairs = zip(decode_uids(scored.uids), scored.scores.tolist(), strict=True)
    ranked = sorted((p for p in pairs if not np.isnan(p[1])), key=lambda p: (-p[1], p[0]))
    return sorted(uid for uid, _ in ranked[:k])


@pytest.mark.parametrize("k", [1, 2, 37, 80, 99])
@pytest.mark.parametrize("levels", [2, 5, 10_000])
def test_exactly_k_as_a_sort_would_choose_ties_and_nan_included(k: int, levels: int) -> None:
    rng = np.random.default_rng(levels)
    scores = rng.integers(0, levels, 120).astype(np.float32)
    scores[rng.permutation(120)[:21]] = np.nan
    scored = table(scores)
    chosen = select_top_k(scored, k)
    assert decode_uids(chosen.uids) == naive(scored, k)
    assert chosen.scored == 99
    assert chosen.drops == {"no_score": 21}
    assert chosen.threshold == min(
        s for u, s in zip(decode_uids(scored.uids), scores, strict=True) if u in naive(scored, k)
    )


def test_infinities_are_scores() -> None:
    assert select_top_k(table([np.inf, -np.inf, 1.0, np.nan]), 3).threshold == -np.inf


@pytest.mark.parametrize("k", [0, -1, 4, 10])
def test_an_impossible_size_names_what_was_dropped(k: int) -> None:
    with pytest.raises(UserError, match=r"3 have a score \(1 no_score\)"):
        select_top_k(table([1, 2, 3, np.nan]), k)


def manifest_of(chosen: Selection) -> Manifest:
    return Manifest(
        pool="p",
        filter="f",
        config={"a": 1},
        k=4,
        threshold=chosen.threshold,
        scored=chosen.scored,
        drops=chosen.drops,
        sha256=chosen.sha256,
        distinct=len(chosen.uids),
        files=[],
        selector="best",
        selector_config={},
    )


def test_each_epoch_has_its_own_subset_file(tmp_path) -> None:
    scored = table(range(10))
    chosen = Selection.of_rows(scored, [np.array([5, 3]), np.array([3, 9])], 10, {})
    assert decode_uids(chosen.uids) == decode_uids(scored.uids[[3, 5, 9]])
    assert chosen.threshold == 3
    assert chosen.sha256 != Selection.of_rows(scored, [np.array([3, 9]), np.array([5, 3])], 10, {}).sha256
    write_selection(tmp_path / "s.npy", chosen, manifest_of(chosen))
    assert sorted(path.name for path in tmp_path.iterdir()) == [
        "s-epoch000.npy", "s-epoch001.npy", "s.json",
    ]  # fmt: skip
    assert decode_uids(read_subset(tmp_path / "s-epoch001.npy")) == decode_uids(scored.uids[[3, 9]])


def test_subset_file_and_manifest_are_written(tmp_path) -> None:
    chosen = select_top_k(table(range(10)), 4)
    manifest = manifest_of(chosen)
    write_selection(tmp_path / "s.npy", chosen, manifest)
    assert (read_subset(tmp_path / "s.npy") == chosen.uids).all()
    assert json.loads((tmp_path / "s.json").read_text())["sha256"] == chosen.sha256
