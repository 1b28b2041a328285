"""``task=report`` on folders as they are after months: many runs, several settings, files that are no results."""

import csv
import json
import re
from collections import Counter
from dataclasses import replace
from pathlib import Path

import pytest

from benchmark.core.paths import REFERENCE_RESULTS
from benchmark.core.records import write_record
from benchmark.results.protocol import Protocol
from benchmark.results.report.table import escaped
from benchmark.results.result import Result
from downstream.evaluation.image_scores import ImageScores
from tests.benchmark.results.report.made_results import metric, protocol, result, trained
from tests.command_line import Run, assert_one_line

USUAL = protocol()
LONGER = protocol(**{"captioner.training.samples_seen": "40000"})
OTHER_POOL = Protocol("demo 200k", {"pool": "another content", "size": "2,000 pairs"})
PROTOCOLS = (USUAL, LONGER, OTHER_POOL)


def run_of(
    name: str, *, seed: int = 0, cider: float = 0.5, of: Protocol = USUAL, finished: str = "1"
) -> Result:
    captions = [metric("CIDEr", cider), metric("METEOR", cider / 2), metric("SPICE", None, "no models")]
    models = {"captioner": trained(coco=captions)}
    run_id = f"demo-{name}-seed{seed}-{of.fingerprint}"
    return result(name, seed=seed, downstream=models, protocol=of, run_id=run_id, finished=finished)


def hundred_runs() -> list[Result]:
    """40 runs with one budget, 40 with another, and 20 on another pool of the same name."""
    names = ("random", "clip", "icc", "tmars", "oracle")
    return [
        run_of(name, seed=seed, cider=(position + seed / 10) / 10, of=of)
        for of, count in zip(PROTOCOLS, (8, 8, 4), strict=True)
        for position, name in enumerate(names)
        for seed in range(count)
    ]


def report_data(folder: Path) -> dict[str, list[dict[str, object]]]:
    loaded: dict[str, list[dict[str, object]]] = json.loads((folder / "report.json").read_text())
    return loaded


@pytest.mark.slow
def test_a_mixed_folder_is_reported_whole(run: Run, tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    first, second = tmp_path / "first", tmp_path / "second"
    for made in hundred_runs():
        write_record(first, made)
    again = run_of("clip", cider=0.9, finished="2")
    write_record(second, again)
    write_record(second, run_of("icc", cider=0.2, finished="0"))  # the seed 0 of `first`, as measured there
    for name in ("old_a", "old_b"):
        (first / f"{name}.json").write_text('{"kind": "run", "schema_version": 3}')
    whole = (first / f"{again.run_id}.json").read_text()
    (first / "truncated.json").write_text(whole[: len(whole) // 2])
    (first / "text.json").write_text("no JSON")
    (first / "other.json").write_text('{"loss": 1}')
    report = ("task=report", f"results_dir={first}", f"task.folders=[{second}]")

    for _ in range(2):  # what a report writes changes no later one
        caplog.clear()
        done = run(*report)
        assert done.returncode == 0, done.stderr
        assert caplog.messages == [
            f"{first / again.run_id}.json and {second / again.run_id}.json are the same run with other metrics;"
            f" {second / again.run_id}.json finished last and counts",
            f"left out {first}/old_a.json and 1 more: run record of the older schema version 3; run"
            " `python -m benchmark filter=... size=...` again",
            f"left out {first}/other.json: JSON, but no run record",
            f"left out {first}/text.json: not readable as JSON: Expecting value: line 1 column 1 (char 0)",
            *(message for message in caplog.messages if "truncated.json: not readable as JSON" in message),
        ]
        assert len(caplog.messages) == 5

    markdown, data = (first / "report.md").read_text(), report_data(first)
    assert done.stdout.splitlines()[-1] == str(first / "report.md")
    boards = {board["title"]: board for board in data["leaderboards"]}
    titles = [f"demo 200k [{of.fingerprint}]" for of in PROTOCOLS]
    assert sorted(boards) == sorted(titles)
    for title in titles:
        assert done.stdout.count(title) == 1
        assert f"## {escaped(title)}: captioner on coco\n" in markdown
    assert markdown.count("Not comparable with the first leaderboard") == 2

    rows = list(csv.DictReader((first / "report.csv").open(newline="")))
    assert Counter(row["fingerprint"] for row in rows if row["metric"] == "CIDEr") == {
        of.fingerprint: runs for of, runs in zip(PROTOCOLS, (40, 40, 20), strict=True)
    }
    assert len({row["run_id"] for row in rows}) == 100
    (newer,) = [row for row in rows if (row["run_id"], row["metric"]) == (again.run_id, "CIDEr")]
    assert newer["value"] == "0.9"  # the run that finished last
    (older,) = [row for row in rows if row["run_id"] == run_of("icc").run_id and row["metric"] == "CIDEr"]
    assert older["value"] == "0.2"  # measured twice alike

    left_out = [f"{name}.json" for name in ("old_a", "old_b", "other", "text", "truncated")]
    assert [Path(str(file["file"])).name for file in data["left_out"]] == left_out
    listed = markdown.partition("## Left out")[2]
    page = (first / "report.html").read_text().partition("Left out")[2]
    for name in left_out:
        assert listed.count(f"{name} |") == 1
        assert f"{name}</td>" in page
    assert not (second / "report.md").exists()


def test_quick_looks_are_shown_apart(run: Run, tmp_path: Path) -> None:
    quick = replace(
        protocol(**{"quick try": "the first 20 images of each evaluation set"}), name="quick try: demo"
    )
    for name in ("random", "clip"):
        write_record(tmp_path, run_of(name, of=quick))
    report = ("task=report", f"results_dir={tmp_path}")
    done = run(*report)
    assert done.returncode == 0, done.stderr
    assert "demo: quick look at 20 images per evaluation set" in " ".join(done.stdout.split())
    assert "Agreement of rankings" not in (tmp_path / "report.md").read_text()
    assert "quick try: demo" in (tmp_path / "report.csv").read_text()
    target = tmp_path / "README.md"
    target.write_text("<!-- leaderboard -->\n<!-- /leaderboard -->")
    refused = run(*report, f"task.publish=[{target}]")
    assert refused.stderr == "error: task.publish needs results; results_dir has none\n"
    write_record(tmp_path, run_of("clip"))
    assert run(*report).returncode == 0
    assert [board["title"] for board in report_data(tmp_path)["leaderboards"]] == [
        "demo 200k",
        "demo: quick look at 20 images per evaluation set",
    ]


def test_nothing_readable_is_an_error(run: Run, tmp_path: Path) -> None:
    (tmp_path / "broken.json").write_text("{")
    done = run("task=report", f"results_dir={tmp_path}")
    assert_one_line(done, f"results_dir={tmp_path} holds no results that can be read; run")
    assert not (tmp_path / "report.md").exists()


def test_metric_chooses_columns(run: Run, tmp_path: Path) -> None:
    write_record(tmp_path, run_of("clip"))
    done = run("task=report", f"results_dir={tmp_path}", "task.columns=[cider]")
    assert done.returncode == 0, done.stderr
    markdown = (tmp_path / "report.md").read_text()
    assert "| filter | C |\n| --- | ---: |\n| clip | 50.0 |" in markdown
    assert "| filter | size | COCO C | NoCaps C |" in markdown
    assert "Table 2 of ICC:" not in markdown
    rows = list(csv.DictReader((tmp_path / "report.csv").open(newline="")))
    assert [row["metric"] for row in rows] == ["CIDEr"]


def test_all_tables_are_printed_on_request(run: Run, tmp_path: Path) -> None:
    write_record(tmp_path, run_of("clip"))
    short, full = (
        " ".join(run("task=report", f"results_dir={tmp_path}", *more).stdout.split())
        for more in ((), ("task.full=true",))
    )
    assert "CIDEr, coco" in short
    for title in ("captioner on coco: CIDEr", "captioner on coco filter", "cost"):
        assert f"demo 200k: {title}" in full
        assert title not in short


def test_papers_figures_do_not_stand_in_for_results(run: Run, tmp_path: Path) -> None:
    write_record(tmp_path, replace(run_of("clip"), downstream={}))
    assert run("task=report", f"results_dir={tmp_path}").returncode == 0
    markdown = (tmp_path / "report.md").read_text()
    boards, published, papers = markdown.partition("## Published: Table 1 of ICC:")
    assert published
    assert "35.5" in papers
    assert "35.5" not in boards


@pytest.mark.slow
def test_one_run_is_compared_with_the_checkouts_reference(run: Run, tmp_path: Path) -> None:
    file = next(REFERENCE_RESULTS.glob("demo-icc-200k-seed0-dfe52d33.json"))
    (tmp_path / file.name).write_bytes(file.read_bytes())
    done = run("task=report", f"results_dir={tmp_path}")
    assert done.returncode == 0, done.stderr
    page = (tmp_path / "report.html").read_text()
    assert re.search(
        "icc: CIDEr, coco 19.9 .rank [0-9–]+., [(]?[+]18.8[)]? above random; text-to-image", page
    )
    assert "random†" in page
    assert "icc†" not in page
    assert {row["label"] for row in csv.DictReader((tmp_path / "report.csv").open())} == {"icc"}


ODD = [
    "", "x" * 5_000, "a/b", "a|b", "<img src=x>", "a\nb", "\x1b[31m", "{a}", "%s", "[bold]", "filter", "size",
    "-mean", "CIDEr-mean", "cider", "METEOR_length", "METEOR-", "BLEU_length", "=1+1", "_tied", "é",
    "BLEU", "BLEU-", "BLEU-mean", "BLEU-0", "BLEU-1e3", "BLEU-²", "BLEU-5",
]  # fmt: skip


def test_metrics_may_have_any_name_and_value(run: Run, tmp_path: Path) -> None:
    values = (0.5, -1e60, 1e60, 5e-324)
    for seed, value in enumerate(values):
        metrics = [metric(name, value, unit="") for name in ["CIDEr", *ODD]]
        made = run_of("clip", seed=seed)
        made = replace(made, downstream={"captioner": trained(coco=metrics)})
        write_record(tmp_path, made)
        (tmp_path / made.run_id / "captioner").mkdir(parents=True)
        kept = ImageScores()
        for name in ["CIDEr", *ODD]:
            kept.add("coco", name, range(5), [value] * 5)
        kept.write(tmp_path / made.run_id / "captioner")
    done = run("task=report", f"results_dir={tmp_path}")
    assert done.returncode == 0, done.stderr
    rows = csv.DictReader((tmp_path / "report.csv").open(newline=""))
    assert len({row["metric"] for row in rows}) == 1 + len(ODD)


def test_a_value_beyond_all_means_is_refused() -> None:
    for value in (1e61, -1e308, float("inf"), float("nan")):
        with pytest.raises(ValueError, match=r"must be at most 1e\+60"):
            metric("CIDEr", value)


@pytest.mark.parametrize(
    ("name", "line"),
    [
        (
            "pairsift.studies.report.Studdies",
            "task.additions=pairsift.studies.report.Studdies cannot be imported: ",
        ),
        (
            "pathlib.Path",
            "task.additions=pathlib.Path must be a subclass of benchmark.results.report.additions.",
        ),
    ],
)
def test_wrong_additions_are_one_line(run: Run, tmp_path: Path, name: str, line: str) -> None:
    where = [f"results_dir={tmp_path}", f"task.folders=[{REFERENCE_RESULTS}]"]
    assert_one_line(run("task=report", *where, f"task.additions={name}"), line)
