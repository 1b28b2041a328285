"""``plan=true``: what is cached, what is not, and nothing is run."""

from dataclasses import replace
from pathlib import Path

import pytest

from benchmark.core.records import write_record
from benchmark.pool import layout
from benchmark.results.provenance import machine
from benchmark.results.stopwatch import Stage
from benchmark.run import plan
from benchmark.run.identity import make_run_id
from benchmark.run.plan import Plan, Timings
from benchmark.run.score import score_pairs
from benchmark.run.select import select_pairs
from tests.benchmark.results.report.made_results import result
from tests.command_line import Run, assert_one_line
from tests.jobs import make_job
from tests.pools import rows, write_pool


def files(folder: Path) -> set[Path]:
    return {path for path in folder.rglob("*") if "locks" not in path.parts}


def test_a_plan_says_what_is_cached_and_runs_nothing(run: Run, cache: Path, tmp_path: Path) -> None:
    pool = write_pool(tmp_path / "pool", [rows(6, start=6 * i) for i in range(3)])
    settings = ["pool=img2dataset", f"pool.url={pool}", "size.samples=5"]
    scored = run("task=score", "filter=no_filter", "task.shards=1/3", *settings)
    assert scored.returncode == 0, scored.stderr
    before = files(cache)
    planned = run("task=select", "filter=no_filter", "plan=true", *settings, "seed=0,1")
    assert planned.returncode == 0, planned.stderr
    table = [" ".join(line.split()) for line in planned.stdout.splitlines()]
    assert table[0] == "Plan of 2 jobs"
    assert [line.rpartition(" ")[0] for line in table if line.startswith("seed=")] == [
        "seed=0 1 of 3 shards cached to do over",
        "seed=1 with a job above to do",
    ]
    assert files(cache) == before
    assert_one_line(run("task=report", "plan=true"), "plan=true is for task=score, select, train, run")


def test_times_are_medians_of_runs_on_a_machine_like_this(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(plan, "REFERENCE_RESULTS", tmp_path / "reference")
    made = [(tmp_path, seed, machine(), seconds) for seed, seconds in enumerate((4, 10, 6))]
    made += [(tmp_path, 3, "another machine", 100), (tmp_path / "reference", 0, "another machine", 50)]
    for folder, seed, where, seconds in made:
        stages = {"pool": Stage(seconds, 2 * seconds, "cpu", seconds)}
        write_record(folder, replace(result("icc", seed=seed), machine=where, stages=stages))

    def median(folder: Path, device: str, stage: str) -> tuple[float | None, str]:
        seconds = Timings(folder, device)
        return seconds.median(lambda run: seconds.stage(run, stage))

    assert median(tmp_path, "cpu", "pool") == (6, f"{tmp_path}, on this machine")
    assert median(tmp_path / "nothing", "cpu", "pool") == (50, "the reference results, on their machine")
    assert median(tmp_path, "cpu", "train/captioner")[0] is None
    assert median(tmp_path, "cuda", "pool")[0] is None


def test_a_stage_is_planned_for_the_tasks_that_have_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(plan, "REFERENCE_RESULTS", tmp_path / "reference")
    settings = ["pool=img2dataset", f"pool.url={write_pool(tmp_path / 'pool', [rows(6)])}", "size.samples=5"]
    settings += ["filter=no_filter", "models=demo", "downstream=dual_encoder", "engine.workers=1"]
    settings += [
        f"results_dir={tmp_path / 'r'}",
        *(f"~evalset.{name}" for name in ("coco", "nocaps", "flickr30k")),
    ]

    def planned(task: str, sweep: Path | None = None) -> tuple[list[str], set[str], list[Path]]:
        made = Plan()
        made.add("job", make_job(f"task={task}", *settings, sweep=sweep))
        return made.rows[0][1:5], {name for name in made.unknown if name.startswith("the time")}, made.again

    scoring, training = "the time of scoring with no_filter", "the time of training dual_encoder"
    evaluating, trained = "the time of evaluating dual_encoder", "dual_encoder to do"
    assert planned("score") == (["to do", "", "", ""], {scoring}, [])
    assert planned("select") == (["to do", "to do", "", ""], {scoring}, [])
    assert planned("train") == (["to do", "to do", trained, ""], {scoring, training}, [])
    assert planned("run") == (["to do", "to do", trained, "to do"], {scoring, training, evaluating}, [])
    job = make_job("task=run", *settings)
    select_pairs(job, score_pairs(job))
    path = tmp_path / "r" / f"{make_run_id(job, None)}.json"
    assert planned("run")[2] == []
    path.parent.mkdir()
    path.write_text("{}")
    assert planned("run") == (["cached", "cached", trained, "to do"], {training, evaluating}, [path])
    assert planned("train")[2] == planned("run", sweep=tmp_path)[2] == []


def test_a_plan_reads_no_file_to_know_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def hash_file(path: Path) -> str:
        raise AssertionError(path)

    monkeypatch.setattr(layout, "hash_file", hash_file)
    url = write_pool(tmp_path / "pool", [rows(4)])
    made = plan.Plan()
    made.add(
        "a", make_job("pool=img2dataset", f"pool.url={url}", "filter=random", "size.samples=2", "task=select")
    )
    assert made.rows[0][:3] == ["a", plan.TO_DO, plan.TO_DO]
