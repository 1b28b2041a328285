"""A result is never lost after training: whatever fails then, the rest is written, and its path printed."""

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from benchmark.core.disk import writable_results
from benchmark.core.paths import cache_dir
from benchmark.core.records import json_text, read_records, scan_records, write_record
from benchmark.results.report.certainty import RunFolders
from benchmark.results.report.leaderboard import leaderboards
from benchmark.results.report.leaderboard_tables import leaderboard
from benchmark.results.report.report_data import leaderboards_csv
from benchmark.results.report.table import to_markdown
from benchmark.results.result import Result
from downstream.evaluation import embedding
from downstream.evaluation.image_scores import ImageScores
from downstream.metrics.intervals import IMAGE_SCORES
from downstream.metrics.metric import FAILED, Metric
from tests.benchmark.results.report.made_results import result, trained
from tests.command_line import Done, Run, assert_one_line
from tests.demos import SMALL_RUN
from tests.hostile.damage import DAMAGES, Damage, cached_files, small_disk, truncate
from tests.pretended_task import PRETEND

INFINITE = """
import numpy as np
from filters.base import Filter

class Infinite(Filter):
    needs = frozenset({"text"})

    def score(self, batch):
        return np.resize(np.array([np.inf, 1, -np.inf, 1, 1e300, 1, 1, 1]), len(batch)).astype(np.float32)
"""


def refuse(constant: str) -> None:
    raise AssertionError(f"{constant} is no JSON")


def read_json(path: Path) -> Any:
    return json.loads(path.read_text(), parse_constant=refuse)


def test_json_has_no_infinity() -> None:
    text = json_text({"a": [float("inf"), (float("nan"), 1.5)], "b": {"c": float("-inf")}})
    assert json.loads(text, parse_constant=refuse) == {"a": [None, [None, 1.5]], "b": {"c": None}}


def test_a_result_with_an_infinite_threshold_is_read_back(tmp_path: Path) -> None:
    made = result("random")
    made = replace(made, selection=replace(made.selection, threshold=None))
    read_json(write_record(tmp_path, made))
    assert read_records(tmp_path, Result) == [made]
    tables = leaderboard([made], RunFolders({}))
    assert any("–" in cell.text for table in tables for row in table.rows for cell in row)


@pytest.mark.parametrize("damage", DAMAGES)
def test_a_damaged_result_is_left_out_with_its_reason(tmp_path: Path, damage: Damage) -> None:
    path = write_record(tmp_path, result("random"))
    kept = write_record(tmp_path, result("clip"))
    damage(path)
    records, left_out = scan_records(tmp_path, Result)
    assert list(records) == [kept]
    assert [file.path for file in left_out] == [path]


@pytest.mark.parametrize("damage", DAMAGES)
def test_damaged_scores_of_images_are_one_line(
    tmp_path: Path, damage: Damage, caplog: pytest.LogCaptureFixture
) -> None:
    kept = ImageScores()
    kept.add("coco", "CIDEr", range(1_000), [0.5] * 1_000)
    kept.write(tmp_path / "captioner")
    damage(tmp_path / "captioner" / IMAGE_SCORES)
    made = result("random")
    assert RunFolders({made.run_id: tmp_path}).image_scores(made, "captioner") == {}
    (line,) = caplog.messages
    assert "cannot be read" in line


def test_a_changed_number_is_noticed(tmp_path: Path) -> None:
    path = write_record(tmp_path, result("random"))
    path.write_text(path.read_text().replace("0.25", "0.75"))
    records, (left_out,) = scan_records(tmp_path, Result)
    assert records == {}
    assert "checksum" in left_out.reason


def test_a_protocols_name_is_neither_html_nor_an_escape() -> None:
    name = "<b>big</b> \x1b[31m"
    made = replace(result(name), protocol=replace(result("random").protocol, name=name))
    text = to_markdown("t", "", leaderboard([made], RunFolders({})))
    assert "<b>" not in text.replace(r"\<b>", "")
    assert "\x1b" not in text + leaderboards_csv(leaderboards([made]))


def test_failed_metrics_are_named_by_their_place() -> None:
    metrics = [
        Metric("a", 1.0, None, 1, ""),
        Metric("b", None, f"{FAILED}x", 1, ""),
        Metric("c", None, "no Java", 1, ""),
    ]
    made = replace(result("random"), downstream={"captioner": trained(coco=metrics)})
    assert made.failed_metrics == [f"captioner/coco/b {FAILED}x"]


def test_a_results_folder_that_takes_no_files_is_replaced(tmp_path: Path) -> None:
    assert writable_results(tmp_path / "results") == tmp_path / "results"
    (tmp_path / "file").touch()
    assert writable_results(tmp_path / "file" / "results") == cache_dir() / "kept_results"
    with small_disk(tmp_path / "full", "size=64k") as full:
        assert writable_results(full) == cache_dir() / "kept_results"


def test_a_results_folder_that_takes_no_files_is_refused_first(tmp_path: Path, run: Run) -> None:
    with small_disk(tmp_path / "disk", "ro") as folder:
        done = run("filter=random", *SMALL_RUN, f"results_dir={folder}")
    assert_one_line(done, "Read-only file system")
    assert not (cache_dir() / "demo").exists()  # which would be drawn first


@pytest.mark.slow
def test_a_failed_metric_gives_exit_code_1(run: Run) -> None:
    done = run(*PRETEND, "seed=9")
    assert (done.returncode, done.stdout) == (1, "seed9.json\n")
    assert done.stderr == "error: a/b/CIDEr failed, see the log\n"
    sweep = run(*PRETEND, "seed=9,0")
    assert sweep.returncode == 1
    assert "Sweep of 2 runs: 1 done, 0 skipped, 1 failed" in sweep.stderr


def last_result(done: Done) -> dict[str, Any]:
    path = Path(done.stdout.splitlines()[-1])
    (record,) = scan_records(path.parent, Result)[0].values()
    assert record.run_id == path.stem
    found: dict[str, Any] = read_json(path)
    return found


@pytest.fixture
def small(small_demo: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The settings of a run of seconds, in a folder of its own."""
    monkeypatch.chdir(tmp_path)
    return [*small_demo, *SMALL_RUN]


@pytest.mark.slow
def test_infinite_scores_are_none(small: list[str], tmp_path: Path, run: Run) -> None:
    (tmp_path / "infinite_filter.py").write_text(INFINITE)
    done = run("filter=infinite_filter:Infinite", *small)
    assert done.returncode == 0, done.stderr
    assert last_result(done)["selection"]["drops"]["no_score"] > 0
    assert last_result(done)["selection"]["threshold"] == 1
    for path in [*tmp_path.rglob("*.json"), *cache_dir().rglob("*.json")]:
        read_json(path)
    assert run("task=report", "results_dir=results").returncode == 0


@pytest.mark.slow
def test_metrics_that_fail_are_missing_and_the_rest_is_kept(
    small: list[str], run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    whole = run("filter=random", *small)
    retrieval = embedding.evaluate_retrieval

    def fails(model: Any, evaluation_set: Any, kept: Any) -> list[Metric]:
        if evaluation_set.name == "coco":
            raise TypeError("a bug")
        return retrieval(model, evaluation_set, kept)

    monkeypatch.setattr(embedding, "evaluate_retrieval", fails)
    done = run("filter=random", *small)
    assert done.returncode == 1
    assert "error: dual_encoder/coco/retrieval failed" in done.stderr
    evaluations = last_result(done)["downstream"]["dual_encoder"]["evaluations"]
    assert evaluations["coco"][0]["reason"].startswith("failed: TypeError: a bug")
    assert (
        evaluations["flickr30k"]
        == last_result(whole)["downstream"]["dual_encoder"]["evaluations"]["flickr30k"]
    )
    assert run("task=report", "results_dir=results").returncode == 0
    monkeypatch.undo()


@pytest.mark.slow
def test_a_results_folder_lost_while_training_costs_nothing(
    small: list[str], tmp_path: Path, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    from benchmark.run import run as run_task

    train = run_task.train_for

    def trains_and_loses_the_folder(*arguments: Any) -> Any:
        trained = train(*arguments)
        (tmp_path / "results").rename(tmp_path / "gone")
        (tmp_path / "results").touch()
        return trained

    monkeypatch.setattr(run_task, "train_for", trains_and_loses_the_folder)
    done = run("filter=random", *small)
    assert done.returncode == 2
    assert "takes no files; the result is" in done.stderr
    assert Path(done.stdout.splitlines()[-1]).parent == cache_dir() / "kept_results"
    assert last_result(done)["downstream"]["dual_encoder"]["evaluations"]["coco"][0]["value"] is not None


@pytest.mark.parametrize(
    "damage",
    [pytest.param(d, marks=pytest.mark.slow if d is truncate else pytest.mark.full) for d in DAMAGES],
)
def test_a_run_on_a_damaged_cache_gives_the_same_result(small: list[str], run: Run, damage: Damage) -> None:
    def metrics() -> Any:
        done = run("filter=clip", *small)
        assert done.returncode == 0, done.stderr
        assert "Traceback" not in done.stderr
        found = last_result(done)
        return found["downstream"]["dual_encoder"]["evaluations"], found["selection"]["sha256"]

    before = metrics()
    for path in cached_files("demo"):
        damage(path)
    assert metrics() == before
