"""``task=report`` on folders as they are after months: many runs, several settings, other files."""

import csv
import json
from dataclasses import replace
from pathlib import Path

import pytest

from benchmark.core.errors import UserError
from benchmark.core.records import write_record
from benchmark.results.protocol import Protocol
from benchmark.results.result import Result
from benchmark.run import report
from downstream.evaluation.image_scores import ImageScores
from tests.benchmark.results.report.made_results import metric, protocol, result, trained
from tests.command_line import Run
from tests.jobs import make_job

USUAL = protocol()


@pytest.fixture(autouse=True)
def reference(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder of the checkout's results, which is empty."""
    monkeypatch.setattr(report, "REFERENCE_RESULTS", tmp_path / "reference")
    return tmp_path / "reference"


def run_of(
    name: str, *, seed: int = 0, cider: float = 0.5, of: Protocol = USUAL, finished: str = "1"
) -> Result:
    captions = [metric("CIDEr", cider), metric("METEOR", cider / 2), metric("SPICE", None, "no models")]
    models = {"captioner": trained(coco=captions)}
    run_id = f"demo-{name}-seed{seed}-{of.fingerprint}"
    return result(name, seed=seed, downstream=models, protocol=of, run_id=run_id, finished=finished)


def test_quick_looks_are_shown_apart(run: Run, tmp_path: Path) -> None:
    quick = replace(
        protocol(**{"quick try": "the first 20 images of each evaluation set"}), name="quick try: demo"
    )
    for name in ("random", "clip"):
        write_record(tmp_path, run_of(name, of=quick))
    command = ("task=report", f"results_dir={tmp_path}")
    target = tmp_path / "README.md"
    target.write_text("<!-- leaderboard -->\n<!-- /leaderboard -->")
    done = run(*command, f"task.publish=[{target}]")
    assert done.stderr == "error: task.publish needs results; results_dir has none\n"
    assert "demo: quick look at 20 images per evaluation set" in " ".join(done.stdout.split())
    assert run(*command).returncode == 0
    assert "Agreement of rankings" not in (tmp_path / "report.md").read_text()
    write_record(tmp_path, run_of("clip"))
    assert run(*command).returncode == 0
    boards = json.loads((tmp_path / "report.json").read_text())["leaderboards"]
    quick_title = "demo: quick look at 20 images per evaluation set"
    assert [board["title"] for board in boards] == ["demo 200k", quick_title]
    assert "quick try: demo" in (tmp_path / "report.csv").read_text()


def test_all_tables_are_printed_on_request(run: Run, tmp_path: Path) -> None:
    write_record(tmp_path, run_of("clip"))
    full = " ".join(run("task=report", f"results_dir={tmp_path}", "task.full=true").stdout.split())
    done = run("task=report", f"results_dir={tmp_path}", "task.columns=[cider]")
    assert done.returncode == 0, done.stderr
    short = " ".join(done.stdout.split())
    assert "CIDEr, coco" in short
    for title in ("captioner on coco: CIDEr", "captioner on coco filter", "cost"):
        assert f"demo 200k: {title}" in full
        assert title not in short
    markdown = (tmp_path / "report.md").read_text()
    assert "| filter | C |\n| --- | ---: |\n| clip | 50.0 |" in markdown
    assert "Table 2 of ICC:" not in markdown
    rows = csv.DictReader((tmp_path / "report.csv").open(newline=""))
    assert [row["metric"] for row in rows] == ["CIDEr"]
    pytest.importorskip("pairsift.studies")
    assert "| filter | size | COCO C | NoCaps C |" in markdown


def test_one_run_is_compared_with_the_checkouts_reference(run: Run, tmp_path: Path, reference: Path) -> None:
    for name, cider in (("random", 0.011), ("clip", 0.1), ("icc", 0.3)):
        write_record(reference, run_of(name, cider=cider))
    write_record(tmp_path, run_of("icc", cider=0.199))
    done = run("task=report", f"results_dir={tmp_path}")
    assert done.returncode == 0, done.stderr
    page = (tmp_path / "report.html").read_text()
    assert "random†" in page
    assert "clip†" in page, "no two filters compete without it"
    assert "icc†" not in page
    assert {row["label"] for row in csv.DictReader((tmp_path / "report.csv").open())} == {"icc"}


def test_metrics_may_have_any_name_and_value(run: Run, tmp_path: Path) -> None:
    names = ["CIDEr", "", "a|b", "<img src=x>", "a\nb", "%s", "[bold]", "filter", "-mean", "METEOR_length"]
    names += ["_tied", "BLEU-1e3"]
    for seed, value in enumerate((-1e60, 1e60)):
        metrics = [metric(name, value, unit="") for name in names]
        made = replace(run_of("clip", seed=seed), downstream={"captioner": trained(coco=metrics)})
        write_record(tmp_path, made)
        (tmp_path / made.run_id / "captioner").mkdir(parents=True)
        kept = ImageScores()
        for name in names:
            kept.add("coco", name, range(5), [value] * 5)
        kept.write(tmp_path / made.run_id / "captioner")
    write_record(tmp_path, replace(run_of("icc"), downstream={}))
    done = run("task=report", f"results_dir={tmp_path}")
    assert done.returncode == 0, done.stderr
    rows = csv.DictReader((tmp_path / "report.csv").open(newline=""))
    assert len({row["metric"] for row in rows}) == len(names)
    for value in (1e61, -1e308, float("inf"), float("nan")):
        with pytest.raises(ValueError, match=r"must be at most 1e\+60"):
            metric("CIDEr", value)
    pytest.importorskip("pairsift.studies")
    boards, _, papers = (tmp_path / "report.md").read_text().partition("## Published: Table 1 of ICC:")
    assert "35.5" in papers
    assert "35.5" not in boards, "a paper's figure does not stand in for a result"


def test_wrong_additions_are_one_line(tmp_path: Path) -> None:
    pytest.importorskip("pairsift.studies")  # additions of a package that is absent are left out
    write_record(tmp_path, run_of("clip"))
    job = make_job("task=report", f"results_dir={tmp_path}")
    for name, line in (
        ("pairsift.studies.report.Studdies", "cannot be imported: "),
        ("pathlib.Path", "must be a subclass of benchmark."),
    ):
        job.cfg.task.additions = name
        with pytest.raises(UserError, match=f"^task.additions={name} {line}"):
            report.report(job)
