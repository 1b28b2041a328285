"""``plan=true``: what is cached, what is not, and nothing is run."""

from dataclasses import replace
from pathlib import Path

import pytest
from omegaconf import OmegaConf

from benchmark.core import fingerprints
from benchmark.core.records import write_record
from benchmark.results.provenance import machine
from benchmark.results.result import DownstreamResult, Scoring
from benchmark.results.stopwatch import Stage
from benchmark.run import identity
from benchmark.run.config import filter_settings, recorded
from benchmark.run.identity import earlier_seconds, stage_settings
from benchmark.run.plan import TO_DO, plan_table
from benchmark.run.score import score_pairs
from benchmark.run.select import select_pairs
from tests.benchmark.results.report.made_results import TRAINING, result
from tests.command_line import Run, assert_one_line
from tests.jobs import make_job
from tests.pools import rows, write_pool


def test_a_plan_says_what_is_cached_and_runs_nothing(run: Run, cache: Path, tmp_path: Path) -> None:
    pool = write_pool(tmp_path / "pool", [rows(6, start=6 * i) for i in range(3)])
    settings = ["pool=img2dataset", f"pool.url={pool}", "size.samples=5", "filter=no_filter"]
    scored = run("task=score", "task.shards=1/3", *settings)
    assert scored.returncode == 0, scored.stderr
    before = {path for path in cache.rglob("*") if "locks" not in path.parts}
    planned = run("task=select", "plan=true", *settings, "seed=0,1")
    assert planned.returncode == 0, planned.stderr
    table = [" ".join(line.split()) for line in planned.stdout.splitlines()]
    jobs = [line.rpartition(" ")[0] for line in table if line.startswith("seed=")]
    assert (table[0], jobs) == ("Plan of 2 jobs", [f"seed={seed} to do to do" for seed in (0, 1)])
    assert {path for path in cache.rglob("*") if "locks" not in path.parts} == before
    assert_one_line(run("task=report", "plan=true"), "plan=true is for task=score, select, train, run")


def test_times_are_of_the_newest_run_with_the_settings_on_a_machine_like_this(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    reference, own = tmp_path / "reference", tmp_path / "own"
    monkeypatch.setattr(identity, "REFERENCE_RESULTS", reference)
    settings = ["filter=random", "models=demo", "device=cpu", f"results_dir={own}", "engine.workers=2"]
    first = make_job(*settings)
    config, of_filter = recorded(first.cfg), recorded(filter_settings(first.cfg))
    job = replace(first, cfg=first.cfg.copy())
    job.cfg.budget, job.cfg.seed = 30000, 1

    def write(folder: Path, day: int, seconds: float, of: str = machine()) -> None:
        stages = {name: Stage(seconds, 1.0, "cpu", 1.0) for name in ("select", "evaluate/captioner")}
        stages["train/captioner"] = Stage(0.1, 0.1, "cpu", 0.1)  # reused by this result
        trained = DownstreamResult("c", replace(TRAINING, samples_seen=100, seconds=seconds), {}, {}, {})
        made = result("random", seed=day, machine=of, finished=f"2026-01-0{day}", stages=stages)
        made = replace(made, scoring=Scoring(3 * seconds, 1.0), config=config)
        made = replace(made, selection=replace(made.selection, config=of_filter))
        write_record(folder, replace(made, downstream={"captioner": trained}))

    def told(**changes: object) -> list[float | None]:
        other = replace(job, cfg=job.cfg.copy())
        for name, value in changes.items():
            OmegaConf.update(other.cfg, name.replace("__", "."), value, force_add=True)
        stages = ("select", "train/captioner", "evaluate/captioner")
        return [earlier_seconds(other, *of) for of in stage_settings(other, stages).items()]

    assert told() == [None] * 3
    write(reference, 1, 50, "another machine")
    assert told() == [75, 150, 50]
    write(own, 2, 8)
    write(own, 1, 4)
    write(own, 3, 100, "another machine")
    assert told() == [12, 24, 8]
    assert told(pool__scale=50)[0] is told(filter___target_="filters.clip.Clip")[0] is None
    assert told(downstream__captioner__training__batch_size=7) == [12, None, None]
    assert told(evalset__limit=5) == [12, 24, None]
    stage = "train/dual_encoder"
    assert earlier_seconds(job, stage, stage_settings(job, [stage])[stage]) is None
    total, *_ = plan_table([("first", job), ("second", job)]).notes
    assert total == "All: over 0:01:16; a filter is scored once."  # 12 + 2 * (24 + 8)
    monkeypatch.setattr(identity, "device_type", lambda name: "cuda")
    assert told() == [None] * 3


def test_a_stage_is_planned_for_the_tasks_that_have_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(identity, "REFERENCE_RESULTS", tmp_path / "reference")
    pool = write_pool(tmp_path / "pool", [rows(6)])
    settings = ["pool=img2dataset", f"pool.url={pool}", "size.samples=5", f"results_dir={tmp_path / 'r'}"]
    settings += ["filter=no_filter", "models=demo", "downstream=dual_encoder", "engine.workers=1"]
    jobs = {task: make_job(f"task={task}", *settings) for task in ("score", "select", "train", "run")}

    def planned(task: str) -> list[str]:
        job = replace(jobs[task], built={})
        job.leave_out_evaluation_sets()
        (row,) = plan_table([("job", job)]).rows
        return [cell.text for cell in row][1:]

    trained = "dual_encoder to do"
    with monkeypatch.context() as patch:
        patch.setattr(fingerprints, "hash_file", None)  # no file is read to know it
        cells = {
            "score": ["", "", ""], "select": [TO_DO, "", ""], "train": [TO_DO, trained, ""],
            "run": [TO_DO, trained, TO_DO],
        }  # fmt: skip
        assert {task: planned(task) for task in cells} == {
            task: [TO_DO, *of_task, "unknown"] for task, of_task in cells.items()
        }
    select_pairs(jobs["run"], score_pairs(jobs["run"]))
    assert planned("run") == ["cached", "cached", trained, TO_DO, "unknown"]
    assert planned("select") == ["cached", "cached", "", "", "0:00:00"]
