"""``task=concreteness`` as a user meets it."""

import json
from pathlib import Path

import pytest

from tests.command_line import Run
from tests.filters.checkpoints import roberta_scorer

TASK = "task=concreteness"


@pytest.fixture
def ratings(tmp_path: Path) -> Path:
    path = tmp_path / "ratings.csv"
    rows = [("a red ball", 3), ("the meaning of life", 0), ("a photo", 2), ("number 7", 1), ("life", 0)]
    path.write_text("caption,concreteness_annotation\n" + "".join(f"{c},{r}\n" for c, r in rows))
    return path


def read(done) -> dict:
    assert done.returncode == 0, done.stderr
    return json.loads(Path(done.stdout.splitlines()[-1]).read_text())


def test_the_released_scores_give_the_papers_figures(run: Run, shared_data: Path, tmp_path: Path) -> None:
    path = shared_data / "icc_annotations" / "caption_concreteness_annotations.csv"
    where = [f"task.annotations={path}", f"results_dir={tmp_path}"]
    done = run(TASK, "filter=score_file", f"filter.path={path}", "filter.column=icc_score", *where)
    found = read(done)
    values = [round(found["correlations"][name]["value"], 3) for name in ("pearson", "spearman", "kendall")]
    assert values == [0.724, 0.749, 0.604]
    assert (found["count"], found["unscored"], found["filter"]) == (500, 0, "score_file")
    assert found["config"]["column"] == "icc_score"
    assert "0.724" in done.stdout


def test_the_demo_is_evaluated_without_any_file(run: Run, tmp_path: Path) -> None:
    found = read(run(TASK, "filter=random", "task.demo=60", f"results_dir={tmp_path}"))
    assert (found["benchmark"], found["count"]) == ("demo", 60)
    assert found["correlations"]["pearson"]["low"] is not None


def test_the_report_has_the_tables_and_explained_captions(run: Run, ratings: Path, tmp_path: Path) -> None:
    checkpoint = roberta_scorer(tmp_path / "icc")
    caption = 'a dog\'s <b>life</b>, "red" = 50%'
    where = f"results_dir={tmp_path / 'results'}"
    found = read(run(TASK, "filter=icc", f"filter.checkpoint={checkpoint}", f"task.explain={caption}", where))
    rated = f"task.annotations={ratings}"
    assert read(run(TASK, "filter=random", rated, where))["count"] == 5
    assert found["caption"] == caption
    assert [word["text"] for word in found["words"]] == caption.split()
    assert any(word["contribution"] for word in found["words"])
    done = run("task=report", where)
    assert done.returncode == 0, done.stderr
    for text in (Path(done.stdout.splitlines()[-1]), tmp_path / "results" / "report.html"):
        assert "(as Table 3)" in text.read_text()
    page = (tmp_path / "results" / "explained.html").read_text()
    assert "&lt;b&gt;life&lt;/b&gt;," in page
    assert "<b>" not in page
