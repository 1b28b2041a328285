"""``task=advise``: an answer for a larger budget from two smaller budgets, and one line for each mistake."""

import json
import os
from collections.abc import Callable
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

import fsspec
import pytest

from benchmark.core.errors import UserError
from benchmark.core.records import write_record
from benchmark.results.report.advice import advise, find_measure
from benchmark.results.report.advice_tables import advice_tables
from benchmark.results.report.certainty import RunFolders
from benchmark.results.result import Result, Scoring
from benchmark.run import advise as advise_module
from benchmark.run.advise import given_up
from benchmark.run.config import filter_settings, recorded
from benchmark.run.job import Job
from tests.benchmark.results.report.made_families import Means, family
from tests.benchmark.results.report.made_results import protocol, texts
from tests.benchmark.results.report.made_run_folders import Folder
from tests.command_line import Run, assert_one_line
from tests.jobs import make_job

CLEAR: Means = {
    "random": {100_000: 0.1, 200_000: 0.12},
    "clip": {100_000: 0.2, 200_000: 0.25},
    "icc": {100_000: 0.3, 200_000: 0.4},
    "oracle": {200_000: 0.9},
}
CLOSE: Means = {
    name: {100_000: mean, 200_000: mean + 0.0002}
    for name, mean in (("random", 0.2), ("clip", 0.2006), ("icc", 0.2012), ("vba", 0.2009))
}
BUDGETS = {1_000_000: CLEAR, 2_000_000: CLEAR}


def written(folder: Path, made: Folder) -> tuple[str, str]:
    """The command on these runs, in a folder with their records."""
    for run in made.results:
        write_record(folder, run)
    return "task=advise", f"results_dir={folder}"


def words(text: str) -> str:
    return " ".join(text.split())


def test_sizes_are_carried_over_and_the_page_has_the_advice(run: Run, tmp_path: Path) -> None:
    command = written(tmp_path, family(tmp_path, BUDGETS))
    done = run(*command, "budget=8m")
    assert done.returncode == 0, done.stderr
    text = words(done.stdout)
    assert "icc 200k at 2m 40.2" in text
    assert "1 100% 200k, 40 epochs 800k, 10 epochs" in text
    assert "Choice: icc at size 200k, P(best) 100%, expected regret 0.0 CIDEr" in text
    assert "Without a filter: 12.2 (random at size 200k); the choice is 28.0 better" in text
    assert "3 of 3 pairs of filters, each at its best size, kept their order" in text
    assert "of 3 best sizes 3 stayed, and 0 kept their epochs" in text
    assert "largest measured size, so beyond may be better: clip, icc, random." in text
    assert "oracle" not in text
    path = Path(done.stdout.splitlines()[-1])
    record = json.loads(path.read_text())
    assert path.parent == tmp_path / "advice"
    assert (record["choice"]["filter"], record["choice"]["size"]) == ("icc", 200_000)
    assert sum(of["p_best"] for of in record["sizes"]) == pytest.approx(1)
    assert run("task=report", f"results_dir={tmp_path}").returncode == 0
    for file in ("report.html", "report.md"):
        assert "Choice: icc at size 200k" in (tmp_path / file).read_text()


def test_open_questions_have_the_runs_that_would_tell_most(run: Run, tmp_path: Path) -> None:
    command = written(tmp_path, family(tmp_path, {1_000_000: CLOSE, 2_000_000: CLOSE}, seeds=2))
    done = run(*command, "budget=8m")
    text = words(done.stdout)
    assert "These runs cannot tell which filter and size is best." in text
    runs = [line for line in done.stdout.splitlines() if "python -m benchmark" in line]
    assert len(runs) == 3
    # 2,000 s of training and 20 s of evaluation
    assert all(line.startswith("34 minutes") and line.endswith("budget=2000000 seed=2") for line in runs)


def test_scoring_takes_its_part_of_the_hours(run: Run, tmp_path: Path) -> None:
    made = family(tmp_path, BUDGETS)
    costs = {"clip": 3600.0 * 6, "icc": 3600.0 * 9.9}
    made.results = [
        replace(
            of, scoring=Scoring(costs.get(of.filter, 1.0), 0.0), config=of.config | {"engine": {"workers": 1}}
        )
        for of in made.results
    ]
    command = written(tmp_path, made)
    done = run(*command, "task.hours=10")  # 36,000 s at a tenth of a second per sample
    text = words(done.stdout)
    assert "random 36m 200k at 2m" in text
    assert "clip 14400k 200k at 2m" in text
    assert "Left out: icc, as its scoring leaves too little of the hours." in text  # 360 s: 360k


@pytest.mark.parametrize("captions", [{}, {"columns": ["alt"]}])
def test_a_pool_that_is_kept_whole_is_a_row_of_random(tmp_path: Path, captions: dict[str, Any]) -> None:
    every = 7_900_000  # all pairs with a score
    means: Means = {"random": {100_000: 0.1, every: 0.3}, "clip": {100_000: 0.2, every: 0.3}}
    made = family(tmp_path, {1_000_000: means, 2_000_000: means})
    settings = {"engine": {"workers": 1}, "captions": captions}
    runs = [
        replace(
            of,
            config=of.config | settings,
            scoring=Scoring(3600 * 9.5 if of.filter == "clip" else 1.0, 0.0),
            selection=replace(of.selection, sha256="all") if of.size == every else of.selection,
        )
        for of in made.results
    ]
    advice = advise(runs, RunFolders(made.folders.folders), find_measure(runs, "CIDEr"), None, 10.0)
    first, _ = advice_tables(advice)
    (random, *rest) = texts(first)
    name = "random" + ", other captions" * bool(captions)
    assert random[:3] == [name, "36m", "7900k at 2m"]  # clip's scoring is not random's
    assert random[-2:] == ["7900k, 4.56 epochs"] * 2  # no more pairs have a score
    assert [row[:2] for row in rest] == [["clip" + ", other captions" * bool(captions), "1800k"]]
    assert not any("beyond" in note for note in first.notes)
    assert "of 1 best sizes 1 stayed" in " ".join(first.notes)


Change = Callable[[list[Result]], list[Result]]
MISTAKES: dict[str, tuple[Change, list[str], str]] = {
    "one budget": (
        lambda runs: [run for run in runs if "1000000" in run.run_id], ["budget=8m"],
        "needs results at two budgets or more; these have only budget=1m",
    ),
    "no metric": (lambda runs: runs, ["budget=8m", "task.metric=CIDER2"], "CIDER2 is not in these results"),
    "no random": (
        lambda runs: [run for run in runs if run.filter != "random"], ["budget=8m"],
        "needs results of filter=random at the same budgets",
    ),
    "smaller": (lambda runs: runs, ["budget=2m"], "budget=2m must be above the measured budgets, 1m, 2m"),
    "few hours": (lambda runs: runs, ["task.hours=0.01"], "task.hours=0.01 must be above the measured budgets"),
    "families": (
        lambda runs: [*runs, replace(runs[0], run_id="x", protocol=protocol("other", size=900))],
        ["budget=8m"], "these also differ in pool",
    ),
    "both": (lambda runs: runs, ["budget=8m", "task.hours=3"], "needs either budget= (samples) or task.hours="),
    "neither": (lambda runs: runs, [], "needs either budget= (samples) or task.hours="),
    "one seed": (lambda runs: [run for run in runs if not run.seed], ["budget=8m"], "run some filters with seed=0,1"),
    "nothing": (lambda runs: [], ["budget=8m"], "holds no results"),
}  # fmt: skip


@pytest.mark.parametrize("name", MISTAKES)
def test_a_mistake_is_one_line(run: Run, tmp_path: Path, name: str) -> None:
    change, settings, message = MISTAKES[name]
    made = family(tmp_path, BUDGETS)
    made.results = change(made.results)
    done = run(*written(tmp_path, made), *settings)
    assert done.returncode == 2
    (line,) = [line for line in done.stderr.splitlines() if line.startswith("error: ")]
    assert message in line
    assert not done.stdout


def test_runs_without_scores_of_images_are_a_mistake(run: Run, tmp_path: Path) -> None:
    elsewhere = tmp_path / "elsewhere"
    done = run(*written(tmp_path, family(elsewhere, BUDGETS)), "budget=8m")
    assert done.returncode == 2
    assert "has no scores of single images" in done.stderr


def test_a_metric_is_found_on_another_evaluation_set(tmp_path: Path) -> None:
    (first, *_) = family(tmp_path, BUDGETS).results
    captioner = first.downstream["captioner"]
    sets = {"nocaps": captioner.evaluations["coco"], **captioner.evaluations}
    runs = [replace(first, downstream={"captioner": replace(captioner, evaluations=sets)})]
    assert find_measure(runs, "cider").evaluation == "coco"
    assert find_measure(runs, "nocaps/CIDEr").evaluation == "nocaps"


def test_not_filtering_may_be_the_choice(tmp_path: Path) -> None:
    means = {**CLEAR, "random": {100_000: 0.6, 200_000: 0.5}}
    made = family(tmp_path, {1_000_000: means, 2_000_000: means})
    folders = RunFolders(made.folders.folders)
    advice = advise(made.results, folders, find_measure(made.results, "CIDEr"), 8_000_000, None)
    first, _ = advice_tables(advice)
    assert advice.choice.filter == "random"
    assert "Without a filter: the same; no filter is expected to be above random at size 100k." in first.notes


@cache
def recorded_settings(home: str, *typed: str) -> tuple[Any, Any]:
    """What a record has of a command's settings, with ~ for `home`: of captions and selector, and of the filter."""
    cfg = make_job(*typed).cfg
    return {name: recorded(cfg)[name] for name in ("selector", "captions")}, recorded(filter_settings(cfg))


def as_run(run: Result, *typed: str, **changes: Any) -> Result:
    """The result as a command writes it that typed these settings."""
    others, of_filter = recorded_settings(os.environ["HOME"], *typed, f"filter={run.filter}")
    selection = replace(run.selection, config=of_filter)
    return replace(run, config=run.config | others, selection=selection, **changes)


def test_a_filter_that_a_smaller_budget_showed_to_be_poor_is_not_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def reason(of: str, budget: str) -> str:
        typed = "task.stop=CIDEr", f"results_dir={tmp_path}", f"budget={budget}"
        return given_up(make_job(*typed, f"filter={of}", sweep=tmp_path))

    monkeypatch.setattr(advise_module, "make_protocol", lambda _: protocol())
    assert not reason("clip", "2000000")  # without results
    others = {name: CLEAR[name] for name in CLEAR if name != "clip"}
    for run in family(tmp_path, {1_000_000: CLEAR, 4_000_000: others}).results:
        write_record(tmp_path, as_run(run))
    poor = "the P(best) of clip by CIDEr on coco is 0.0% at 1m (task.stop)"
    assert reason("clip", "2000000") == poor
    assert reason("clip", "8000000") == poor  # left out at 4m, too
    assert [reason(name, "2000000") for name in ("icc", "random", "vba")] == [""] * 3
    assert not reason("clip", "1000000")


def test_a_metric_that_stop_does_not_find_ends_the_first_run_with_results(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(advise_module, "make_protocol", lambda _: protocol())
    for run in family(tmp_path, {1_000_000: {"random": {100_000: 0.1}}}).results:
        write_record(tmp_path, as_run(run))
    job = make_job("task.stop=CIDErr", f"results_dir={tmp_path}", "filter=random", sweep=tmp_path)
    with pytest.raises(UserError, match="the metric CIDErr is not in these results; did you mean 'CIDEr'"):
        given_up(job)


RECALL = "text_to_image_R@1"
RECALLS: dict[str, Means] = {
    "poor by CIDEr only": {**CLEAR, "clip": {100_000: 0.5, 200_000: 0.6}},
    "poor by both": CLEAR,
}


@pytest.mark.parametrize(("recalls", "stop", "poor_by"), [
    ("poor by CIDEr only", "true", []),
    ("poor by CIDEr only", "CIDEr", ["CIDEr"]),
    ("poor by CIDEr only", RECALL, []),
    ("poor by both", "true", ["CIDEr", RECALL]),
])  # fmt: skip
def test_stop_true_leaves_out_what_is_poor_by_every_headline_metric(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, recalls: str, stop: str, poor_by: list[str]
) -> None:
    monkeypatch.setattr(advise_module, "make_protocol", lambda _: protocol())
    by_cider = family(tmp_path, {1_000_000: CLEAR})
    by_recall = family(tmp_path / "recall", {1_000_000: RECALLS[recalls]}, metric=RECALL)
    for run, other in zip(by_cider.results, by_recall.results, strict=True):
        (tmp_path / run.run_id / "dual_encoder").symlink_to(tmp_path / "recall" / run.run_id / "captioner")
        models = {"captioner": run.downstream["captioner"], "dual_encoder": other.downstream["captioner"]}
        write_record(tmp_path, as_run(run, downstream=models))
    typed = f"task.stop={stop}", f"results_dir={tmp_path}", "budget=2000000", "filter=clip"
    reason = given_up(make_job(*typed, sweep=tmp_path))
    assert [
        name for name in ("CIDEr", RECALL) if f"clip by {name} on coco is 0.0% at 1m" in reason
    ] == poor_by
    assert bool(reason) == bool(poor_by)


POOR: Means = {"debiased": {100_000: 0.1}, "clip": {100_000: 0.4}, "icc": {100_000: 0.4}}


@pytest.mark.parametrize(
    ("made", "seeds", "name", "typed", "is_left_out"),
    [
        ({"debiased": POOR["debiased"]}, 2, "debiased", [], False),  # others have not run yet
        (POOR, 1, "debiased", [], False),
        (POOR, 2, "random", [], False),
        (POOR, 2, "debiased", ["seed=3"], True),  # its settings have the seed
        (
            POOR,
            2,
            "debiased",
            ["captions.files=[{}/other.parquet]"],
            True,
        ),  # records have ~ for the home folder
    ],
)
def test_stop_knows_a_filter_by_its_settings_and_the_noise_by_seeds(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    made: Means,
    seeds: int,
    name: str,
    typed: list[str],
    is_left_out: bool,
) -> None:
    monkeypatch.setattr(advise_module, "make_protocol", lambda _: protocol())
    monkeypatch.setenv("HOME", str(tmp_path))
    captions = [of.format(tmp_path) for of in typed if "captions" in of]
    for run in family(tmp_path, {1_000_000: made}, seeds).results:
        write_record(tmp_path, as_run(run, f"seed={run.seed}", *captions))
    settings = [of.format(tmp_path) for of in typed]
    job = make_job(
        "task.stop=CIDEr", f"results_dir={tmp_path}", "budget=2000000", f"filter={name}", *settings
    )
    assert bool(given_up(job)) is is_left_out


def files_here(job: Job) -> None:
    """A task in place of a run; it says which files it can read."""
    names = {path.name for path in job.results_dir.rglob("*.json")}
    raise UserError(f"files: {', '.join(sorted(names))}")


@pytest.mark.parametrize(
    ("stop", "sweep", "files"),
    [
        ("null", False, "a.json, scores.json"),  # for its verdict
        ("null", True, "a.json"),
        ("CIDEr", True, "a.json, scores.json"),
    ],
)
def test_a_run_reads_the_scores_of_images_of_remote_runs_if_it_needs_them(
    stop: str, sweep: bool, files: str, tmp_path: Path
) -> None:
    remote = fsspec.filesystem("memory")
    for name in ("a.json", "a/captioner/scores.json"):
        remote.pipe(f"/stopped/{name}", b"{}")
    job = make_job(
        f"task.stop={stop}", "results_dir=memory://stopped", f"task._target_={__name__}.files_here"
    )
    with pytest.raises(UserError, match=f"files: {files}$"):
        replace(job, sweep=tmp_path if sweep else None).run()


def test_stop_needs_two_seeds_before_the_first_run(run: Run, tmp_path: Path) -> None:
    sweep = ["filter=random", "budget=1m,2m", "plan=true", f"results_dir={tmp_path}", "task.stop=true"]
    message = "task.stop needs the noise of training; run two seeds or more: seed=0,1"
    assert_one_line(run(*sweep), message)
    assert run(*sweep, "seed=0,1").returncode == 0
    made = family(tmp_path, {1_000_000: {"random": {100_000: 0.1}}})
    for of_seed in made.results:
        write_record(tmp_path, of_seed)
    assert run(*sweep).returncode == 0, "results have other seeds"


def test_stop_is_a_metric_or_true(run: Run) -> None:
    message = "task.stop=7 must be true or a metric, or null"
    assert_one_line(run("filter=random", "task.stop=7"), message)
