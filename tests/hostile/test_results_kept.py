"""A result is never lost after training: whatever fails then, the rest is written, and its path printed."""

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from benchmark.core.disk import writable_results
from benchmark.core.paths import cache_dir
from benchmark.core.records import read_records, scan_records, write_record
from benchmark.results.report.certainty import RunFolders
from benchmark.results.report.leaderboard_tables import leaderboard
from benchmark.results.result import Result
from downstream.evaluation import embedding
from downstream.evaluation.image_scores import ImageScores
from downstream.metrics.intervals import IMAGE_SCORES
from downstream.metrics.metric import FAILED, Metric
from tests.benchmark.results.report.made_results import result, trained
from tests.command_line import Done, Run, assert_one_line
from tests.demos import SMALL_RUN
from tests.hostile.damage import DAMAGES, Damage, cached_files, small_disk
from tests.pretended_task import PRETEND

INFINITE = """
import numpy as np
from filters.base import Filter

class Infinite(Filter):
    needs = frozenset({"text"})

    def score(self, batch):
        return np.resize(np.array([np.inf, 1, -np.inf, 1, 1e300, 1, 1, 1]), len(batch)).astype(np.float32)
"""


def test_a_result_with_an_infinite_threshold_is_read_back(tmp_path: Path) -> None:
    made = result("random")
    made = replace(made, selection=replace(made.selection, threshold=None))
    write_record(tmp_path, made)
    assert read_records(tmp_path, Result) == [made]
    (table,) = leaderboard([made], RunFolders({}))
    assert [row[3].text for row in table.rows] == ["–"]
    assert "threshold" in table.header[3]


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


def test_failed_metrics_are_named_by_their_place_and_end_in_code_1(run: Run) -> None:
    reasons = {"a": None, "b": f"{FAILED}x", "c": "no Java"}
    metrics = [Metric(name, None if reason else 1.0, reason, 1, "") for name, reason in reasons.items()]
    made = replace(result("random"), downstream={"captioner": trained(coco=metrics)})
    assert made.failed_metrics == [f"captioner/coco/b {FAILED}x"]
    done = run(*PRETEND, "seed=9")
    assert (done.returncode, done.stdout) == (1, "seed9.json\n")
    assert done.stderr == "error: a/b/CIDEr failed, see the log\n"


def refuse(constant: str) -> None:
    raise AssertionError(f"{constant} is not JSON")


def last_result(done: Done) -> dict[str, Any]:
    path = Path(done.stdout.splitlines()[-1])
    (record,) = scan_records(path.parent, Result)[0].values()
    assert record.run_id == path.stem
    return dict(json.loads(path.read_text()))


@pytest.fixture
def small(small_demo: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The settings of a run of seconds, in a separate folder."""
    monkeypatch.chdir(tmp_path)
    return [*small_demo, *SMALL_RUN]


@pytest.mark.slow
def test_infinite_scores_and_a_lost_results_folder_cost_nothing(
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
    (tmp_path / "infinite_filter.py").write_text(INFINITE)
    done = run("filter=infinite_filter:Infinite", *small)
    assert done.returncode == 2
    assert "takes no files; the result is" in done.stderr
    assert Path(done.stdout.splitlines()[-1]).parent == cache_dir() / "kept_results"
    found = last_result(done)
    assert found["downstream"]["dual_encoder"]["evaluations"]["coco"][0]["value"] is not None
    assert found["selection"]["drops"]["no_score"] > 0
    assert found["selection"]["threshold"] == 1
    for file in [*tmp_path.rglob("*.json"), *cache_dir().rglob("*.json")]:
        json.loads(file.read_text(), parse_constant=refuse)


@pytest.mark.slow
def test_a_damaged_cache_and_a_failing_metric_leave_the_rest_as_it_was(
    small: list[str], run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    whole = last_result(run("filter=random", *small))
    retrieval = embedding.evaluate_retrieval

    def fails(model: Any, evaluation_set: Any, kept: Any) -> list[Metric]:
        if evaluation_set.name == "coco":
            raise TypeError("a bug")
        return retrieval(model, evaluation_set, kept)

    monkeypatch.setattr(embedding, "evaluate_retrieval", fails)
    for number, path in enumerate(cached_files("demo")):
        DAMAGES[number % len(DAMAGES)](path)
    done = run("filter=random", *small)
    assert done.returncode == 1
    assert "error: dual_encoder/coco/retrieval failed" in done.stderr
    assert "Traceback" not in done.stderr
    found = last_result(done)
    assert found["selection"]["sha256"] == whole["selection"]["sha256"]
    now, before = (of["downstream"]["dual_encoder"]["evaluations"] for of in (found, whole))
    assert now["coco"][0]["reason"].startswith("failed: TypeError: a bug")
    assert now["flickr30k"] == before["flickr30k"]
