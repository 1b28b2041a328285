"""The verdict of a leaderboard: the same sentence wherever it is shown, and the command that would tell more."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from benchmark.results.page.leaderboard_page import leaderboard_page
from benchmark.results.protocol import Protocol
from benchmark.results.report.verdicts import board_verdict
from tests.benchmark.results.report.made_results import captioned
from tests.benchmark.results.report.made_run_folders import Folder

TOYS = {"downstream": {"captioner": {"encoder": "pairsift/demo/models/swin"}}, "pool": {"name": "mine"}}
QUICK = "quick look at 20 images per evaluation set"
Means = dict[str, list[float]]


def runs_of(path: Path, means: Means) -> Folder:
    folder = Folder(path)
    for name, of_seeds in means.items():
        folder.add(name, of_seeds)
    return folder


SEVERAL = [
    pytest.param(
        {"icc": [0.5, 0.51], "clip": [0.3, 0.31], "random": [0.1, 0.11]},
        "icc (50.5) is better than every other filter.", [], id="one is better",
    ),
    pytest.param(
        {"icc": [0.5, 0.51], "clip": [0.51, 0.5], "random": [0.1, 0.11]},
        "clip has the highest mean (50.5); not shown to be worse: icc.", [], id="two are as good",
    ),
    pytest.param(
        {"icc": [0.12, 0.1], "random": [0.1, 0.11]},
        "no filter is shown to beat random here; icc has the highest mean (11.0), random 10.5.",
        ["seed=0,1,2,3", "seed=0,1,2,3 budget=400"], id="none beats random",
    ),
    pytest.param(
        {"icc": [0.1, 0.11], "no_filter": [0.12, 0.13]},
        "no filter is shown to beat no_filter here; no_filter has the highest mean (12.5).",
        ["seed=0,1,2,3", "seed=0,1,2,3 budget=400"], id="the reference is first",
    ),
    pytest.param(
        {"icc": [0.5, 0.51], "clip": [0.3, 0.31]}, "icc (50.5) is better than clip.",
        ["filter=random,clip,icc"], id="random was not run",
    ),
    pytest.param(
        {"icc": [0.5], "clip": [0.3], "random": [0.1]},
        "seeds were not varied, so none is called better. Over evaluation images only, icc has the highest mean"
        " (50.0); all others are below it; above random: icc, clip.",
        ["seed=0,1,2"], id="one seed",
    ),
    pytest.param(
        {"icc": [0.5], "clip": [0.5]},
        "seeds were not varied, so none is called better. Over evaluation images only, clip has the highest mean"
        " (50.0); not shown to be below it: icc.",
        ["filter=random,clip,icc seed=0,1,2"], id="one seed without random",
    ),
    pytest.param(
        {"icc": [0.1], "random": [0.1]},
        "no filter is shown to beat random here, even over evaluation images only (seeds were not varied); icc has"
        " the highest mean (10.0), random 10.0.",
        ["seed=0,1,2", "seed=0,1,2 budget=400"], id="one seed and no gain",
    ),
]  # fmt: skip


@pytest.mark.parametrize(("means", "sentence", "commands"), SEVERAL)
def test_the_verdict_says_what_is_shown(
    tmp_path: Path, means: Means, sentence: str, commands: Sequence[str]
) -> None:
    runs = runs_of(tmp_path, means)
    found = board_verdict(runs.results, runs.folders)
    assert [verdict.sentence for verdict in found.verdicts] == [sentence]
    assert [command for _, command in found.advice] == commands


def test_one_filter_is_compared_with_nothing(tmp_path: Path) -> None:
    runs = runs_of(tmp_path, {"icc": [0.1, 0.2], "oracle": [0.9, 0.9]})
    first, second = board_verdict(runs.results, runs.folders).lines
    assert first == "Only icc competes here: there is nothing to compare it with."
    assert second.endswith("random as the reference and 4 seeds: filter=random,icc seed=0,1,2,3")


def test_shipped_random_is_the_reference(tmp_path: Path) -> None:
    runs = runs_of(tmp_path, {"icc": [0.5, 0.51], "random": [0.1, 0.11]})
    first, second = board_verdict(runs.results[:2], runs.folders, runs.results[2:]).lines
    assert first == "CIDEr on coco: icc (50.5) is better than random."
    assert second == "random is from the reference results of the checkout."


def test_without_scores_of_images_none_is_called_better(tmp_path: Path) -> None:
    runs = [captioned("icc", 0.5), captioned("random", 0.1)]
    (verdict,) = board_verdict(runs, runs_of(tmp_path, {}).folders).verdicts
    unknown = "no filter is called better, as seeds were not varied and there are no"
    assert verdict.sentence.startswith(unknown)


COMMAND = ["pool=img2dataset", "pool.url=my pool", "models=demo", "evalset.limit=20", "size=100", "budget=9"]


def test_the_command_is_the_one_that_was_typed(tmp_path: Path) -> None:
    runs = runs_of(tmp_path, {"icc": [0.5], "random": [0.1]})
    runs.results = [replace(r, overrides=[*COMMAND, f"filter={r.filter}", "seed=0"]) for r in runs.results]
    usual = "pool=img2dataset 'pool.url=my pool' models=demo evalset.limit=20 size=100 budget=9"
    ((_, command),) = board_verdict(runs.results, runs.folders).advice
    assert command == f"python -m benchmark {usual} filter=random,icc seed=0,1,2"
    icc, random = runs.results
    bounded = replace(icc, overrides=[*COMMAND, "filter=icc", "filter.minimum=0.3"])
    unknown, other = replace(icc, overrides=None), replace(icc, overrides=["size=200", "filter=icc"])
    for changed in (bounded, unknown, other):  # a bound of one filter is not random's
        ((_, command),) = board_verdict([changed, random], runs.folders).advice
        assert command == "seed=0,1,2"
    chosen = replace(icc.selection, config={"_target_": "my_filters.Mine"})
    mine = replace(icc, filter="Mine", selection=chosen, overrides=["filter=Mine"])
    shipped = replace(icc, selection=replace(icc.selection, config={"_target_": "filters.icc.modes.icc"}))
    assert (mine.typed_filter, shipped.typed_filter) == ("my_filters:Mine", "icc")
    ((_, command),) = board_verdict([mine, replace(random, overrides=["filter=random"])], runs.folders).advice
    assert command == "python -m benchmark filter=random,my_filters:Mine seed=0,1,2"
    equal, samples = (
        runs_of(tmp_path, {"icc": [0.12, 0.1], "random": [0.1, 0.11]}),
        "training.samples_seen=256",
    )
    typed = [replace(r, overrides=[f"downstream.captioner.{samples}"]) for r in equal.results]
    (_, seeds), (_, budget) = board_verdict(typed, equal.folders).advice
    assert (samples in seeds, samples in budget, "budget=" in budget) == (True, False, True)


@pytest.mark.parametrize(
    ("limit", "toys", "mark"),
    [
        (False, True, "dry run with toy models"),
        (True, False, QUICK),
        (True, True, f"{QUICK}, dry run with toy models"),
    ],
)
def test_dry_runs_and_quick_looks_are_no_findings(tmp_path: Path, limit: bool, toys: bool, mark: str) -> None:
    runs = runs_of(tmp_path, {"icc": [0.5, 0.51], "random": [0.1, 0.11]})
    images = {"quick try": "the first 20 images of each evaluation set, comparable to nothing"}
    protocol = Protocol("quick try: mine" if limit else "mine", images if limit else {})
    typed = [*COMMAND[:2], *["models=demo"] * toys, *["evalset.limit=20"] * limit]
    runs.results = [
        replace(r, protocol=protocol, config=TOYS if toys else {}, overrides=[*typed, f"filter={r.filter}"])
        for r in runs.results
    ]
    found = board_verdict(runs.results, runs.folders)
    assert [verdict.heading for verdict in found.verdicts] == [f"CIDEr on coco ({mark}, not a finding)"]
    ((text, command),) = found.advice
    assert ("real models" in text, "all evaluation images" in text) == (toys, limit)
    assert command == "python -m benchmark pool=img2dataset 'pool.url=my pool' filter=random,icc"
    page = leaderboard_page(runs.results, runs.folders, [])
    assert f"<h1>Leaderboard: {mark}</h1>" in page
    assert f"<h2>mine: {mark}</h2>" in page
    assert f"<b>CIDEr on coco ({mark}, not a finding):</b> icc (50.5) is better than random." in page
    assert f"<code>{command.replace(chr(39), '&#39;')}</code>" in page
