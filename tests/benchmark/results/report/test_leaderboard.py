"""Which runs share a leaderboard and a row, and how rows are labelled; `golden.md` has the common cases."""

from dataclasses import replace
from typing import Any

import pytest

from benchmark.core.errors import UserError
from benchmark.results.report.certainty import RunFolders
from benchmark.results.report.leaderboard import FAMILIES, family_position, group, leaderboards
from benchmark.results.report.leaderboard_tables import summary_board, summary_table
from benchmark.results.result import Result
from tests.benchmark.results.report.made_results import captioned, protocol, result


def test_unknown_families_come_before_the_oracle_only() -> None:
    order = sorted(["", "mine", *FAMILIES], key=family_position)
    assert order == [*FAMILIES[:-1], "", "mine", "planted"]


def of(name: str, sha256: str, seed: int = 0, config: dict[str, Any] | None = None, **changes: Any) -> Result:
    made = captioned(name, 0.1, seed=seed, run_id=f"{name} {sha256} {seed}", config=config or {})
    settings = changes.pop("settings", {})
    selection = replace(made.selection, sha256=sha256, config=made.selection.config | settings, **changes)
    return replace(made, selection=selection)


def labels(*runs: Result) -> dict[str, int]:
    return {entry.label: len(entry.runs) for entry in group(runs)}


def test_runs_that_differ_in_settings_are_rows_that_say_so() -> None:
    bounded = [of("clip", str(n), settings=bounds) for n, bounds in enumerate(({}, {"minimum": 0.3}))]
    deciding = of("clip", "2", settings={"minimum": 0.3, "rank": False})
    assert labels(*bounded, deciding) == {
        "clip (minimum=0.3, rank=False)": 1, "clip (minimum=0.3, rank=True)": 1, "clip (rank=True)": 1,
    }  # fmt: skip
    # Seeds and folders set no runs apart, nor do settings of other captions that are not used.
    unused = {"captions": {"columns": [], "files": [], "use": "sum", "weights": None}}
    folders = [
        of("vas", str(seed), seed, unused if seed else {}, settings={"weights": f"{path}l14", "target": None})
        for seed, path in enumerate(("/a/", "/b/", ""))
    ]
    other = of("vas", "other", settings={"weights": "/a/l14", "target": "x/coco.npy"})
    assert labels(*folders, other) == {"vas (target=None)": 3, "vas (target=coco.npy)": 1}
    assert labels(of("a", "1", settings={"x": 1}), of("a", "2", settings={"y": 1})) == {"a": 1, "a #2": 1}
    captions = [
        of("icc", path, n, {"captions": {"files": [path]}}) for n, path in enumerate(("/a/c", "/b/c"))
    ]
    assert len(labels(*captions)) == 2


def test_filters_with_other_settings_at_other_sizes_are_no_sizes_of_one_filter() -> None:
    runs = [captioned("clip", 0.1, seed=seed, size=size) for size in (100_000, 200_000) for seed in (0, 1)]
    for at, run in enumerate(runs):
        bounds = {"minimum": 0.2 if run.size == 100_000 else 0.3}
        changed = replace(run.selection, config=run.selection.config | bounds, sha256=str(at))
        runs[at] = replace(run, selection=changed, protocol=protocol(size=run.size))
    boards = leaderboards(runs)
    assert [[e.label for e in board.entries] for board in boards] == [
        ["clip (minimum=0.2)"], ["clip (minimum=0.3)"],
    ]  # fmt: skip


def test_filters_of_one_selection_are_one_row() -> None:
    runs = [of("random", str(seed), seed) for seed in range(3)]
    same, other = of("no_filter", "0", tied=80_000), of("english", "0 too")
    captions = of("laion2b", "0", config={"captions": {"files": ["mine"]}})
    (entry, *rest) = group([same, *runs, other, captions])
    assert (entry.label, entry.name) == ("random", "random, no_filter (draw of 100%)")
    assert ([run.seed for run in entry.runs], len(entry.all_runs)) == ([0, 1, 2], 4)
    assert [e.label for e in rest] == ["english", "laion2b, other captions"]
    # Another selection of a seed that both have: not the same filter.
    assert len(group([of("clip", "a"), of("clip", "b", 1), of("icc", "a"), of("icc", "c", 1)])) == 2


def test_pairs_outside_of_bounds_were_read_too() -> None:
    drops = {"no_score": 1_000, "below filter.minimum=0.3": 29_000, "other": 5}
    lossy = of("clip", "a", scored=50_000, drops=drops, lost={"image_missing": 7})
    assert lossy.pairs_read == 80_007


def test_the_size_with_the_most_runs_is_published_and_named() -> None:
    smaller = [captioned(name, 0.3, size=100_000) for name in ("clip", "icc")]
    runs = [captioned("clip", 0.3, seed=seed) for seed in range(3)]
    elsewhere = [replace(captioned("icc", 0.3), protocol=protocol("web"), seed=seed) for seed in range(4)]
    table = summary_table(summary_board(leaderboards([*smaller, *runs, *elsewhere])), RunFolders({}))
    assert [row[0].text for row in table.rows] == ["clip"]
    assert f"Protocol: demo 200k ({protocol().fingerprint}), 3 runs." in table.notes
    with pytest.raises(UserError, match="needs results; results_dir has none"):
        summary_board([])


def test_the_demo_itself_is_no_dry_run() -> None:
    toys = {"captioner": {"encoder": "pairsift/demo/models/swin"}}
    (board,) = leaderboards([result("icc", config={"downstream": toys, "pool": {"demo": {"pairs": 80_000}}})])
    assert board.title == "demo 200k"
