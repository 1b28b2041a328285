"""Sweeps: what a command expands to, what a failed run does to the others, and what the terminal says."""

import time
from pathlib import Path
from types import SimpleNamespace

import pytest

from benchmark.cli import sweep_runs
from benchmark.cli.jobs import planned_sweeps
from benchmark.core.errors import UserError
from benchmark.core.output_folder import writable_folder
from benchmark.core.records import write_record
from benchmark.run.output import Finished
from tests import pretended_task
from tests.benchmark.results.report.made_results import result
from tests.command_line import Run, assert_one_line
from tests.pretended_task import CLOCK, PRETEND

SELECT = ["task=select", "pool=img2dataset", "pool.url=/nowhere", "filter=random"]


def lines(caplog: pytest.LogCaptureFixture) -> list[str]:
    return [record.message for record in caplog.records if record.name == sweep_runs.__name__][1:]


def test_a_sweep_with_a_wrong_job_starts_none(run: Run) -> None:
    done = run(*SELECT, "size=abc,1m,xyz")
    assert (done.returncode, done.stdout) == (2, "")
    errors = [line for line in done.stderr.splitlines() if line.startswith("error: ")]
    assert [line.partition(" must be")[0] for line in errors] == ["error: size=abc", "error: size=xyz"]
    # A mistake that all jobs share is one line.
    assert_one_line(run(*SELECT, "size=100k,1m", "seed=x"), "error: seed=x must be an integer from 0")


def test_progress_errors_and_the_exit_code(
    run: Run, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    clock = SimpleNamespace(monotonic=lambda: CLOCK.now, strftime=time.strftime)
    monkeypatch.setattr(sweep_runs, "time", clock)
    done = run(*PRETEND, "seed=1,0,3,5,9,4")
    assert done.returncode == 1, "an unexpected error outweighs a user's mistake"
    assert [line.partition("; ")[2] for line in lines(caplog) if "; " in line] == [
        "0 done, 0 skipped, 0 failed, 5 remaining",
        "0 done, 1 skipped, 0 failed, 4 remaining",
        "1 done, 1 skipped, 0 failed, 3 remaining, ETA 0:04:00",
        "1 done, 1 skipped, 1 failed, 2 remaining, ETA 0:03:00",
        "1 done, 1 skipped, 2 failed, 1 remaining, ETA 0:02:00",
        "1 done, 1 skipped, 3 failed, 0 remaining, ETA 0:01:00",
    ]
    assert "in pretend" in caplog.text, "the traceback"
    table = [" ".join(line.split()) for line in done.stderr.splitlines()]
    assert table[0] == "Sweep of 6 runs: 2 done, 1 skipped, 3 failed"
    assert [line for line in table if line.startswith("seed=")] == [
        "seed=1 skipped 0.0 seed1.json",
        "seed=0 done 60.0 seed0.json",
        f"seed=3 failed 0.0 {pretended_task.__file__}, line 18: ZeroDivisionError: a bug",
        "seed=5 failed 0.0 seed=5 must be another",
        "seed=9 failed 60.0 a/b/CIDEr failed, see the log",
        "seed=4 done 60.0 seed4.json",
    ]


def test_a_run_may_be_left_out(run: Run) -> None:
    done = run(*PRETEND, "seed=0,7")
    assert (done.returncode, done.stdout) == (0, "seed0.json\n")
    printed = " ".join(done.stderr.split())
    assert "Sweep of 2 runs: 1 done, 0 skipped, 0 failed, 1 left out" in printed
    assert "seed=7 left out 0.0 not worth it" in printed


def test_results_of_a_remote_folder_are_in_the_table(cache: Path) -> None:
    sweep = sweep_runs.Sweep(["filter=icc"])
    with writable_folder("memory://sweep/results") as folder:
        path = write_record(folder, result("icc"))
        sweep.run_job(lambda: Finished(path), 0)
    (outcome,) = sweep.outcomes
    assert outcome.text == f"memory://sweep/results/{path.name}"
    assert len(sweep_runs.outcome_tables([outcome])) == 2


@pytest.mark.slow
def test_a_failure_in_a_launch_ends_it(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sweep_runs, "process_count", lambda: 2)
    done = run(*PRETEND, "seed=5,0")
    assert done.returncode == 2
    assert "Sweep of 2 runs: 0 done, 0 skipped, 1 failed, 1 not run" in done.stderr


def test_overrides_narrow_the_sweeps_of_an_experiment() -> None:
    narrow = ["experiment=demo_grid", "filter=icc,random", "results_dir=r"]
    first, second, last = planned_sweeps(narrow)
    assert first == ["--multirun", "results_dir=r", "seed=0,1,2", "size=200k", "filter=random,icc"]
    assert second == ["--multirun", "results_dir=r", "seed=0,1", "size=100k,500k,2m", "filter=random,icc"]
    assert "pool.demo.mismatched=0.0,0.01,0.02,0.05" in last
    assert planned_sweeps([*narrow, "size=500k"])[0][1:] == [
        "results_dir=r", "seed=0,1", "size=500k", "filter=random,icc",
    ]  # fmt: skip
    assert planned_sweeps(["experiment=demo_grid", "--cfg", "job"]) == []


def test_an_experiment_may_need_a_setting(run: Run) -> None:
    assert_one_line(run("experiment=advise"), "experiment=advise needs budget=, for example budget=300k,750k")


def test_values_that_an_experiment_does_not_list_are_refused(run: Run) -> None:
    with pytest.raises(UserError, match="no run of the experiment has filter=lexicon"):
        planned_sweeps(["experiment=demo_grid", "filter=lexicon"])
    assert_one_line(
        run("experiment=demo_grid", "size=1m"), "no run of the experiment has size=1m; give values"
    )
