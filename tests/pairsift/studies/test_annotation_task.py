"""Sheets for annotators: evenly drawn, escaped, and read back with their agreement."""

import csv
import json
import re
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from benchmark.core.batch import Batch
from benchmark.core.errors import UserError
from benchmark.core.uids import make_uid
from benchmark.run.job import Job
from downstream.evaluation.evaluation_sets import EvaluationSet, ImageFile, Item
from filters.base import Filter, Scores
from pairsift.studies.annotation import BINS, annotation, show_by_origin, spread
from pairsift.studies.icc.concreteness.rated_texts import read_annotations
from tests.jobs import make_job
from tests.pools import Row, jpeg, write_metadata

CAPTIONS = ["a dog", "=HYPERLINK(1)", "<script>alert(1)</script>", "'tis hope", "a red kite over the hill"]
# Krippendorff's example: four observers, twelve units; the alpha of intervals is .849 (Computing Krippendorff's
# Alpha-Reliability, 2011).
OBSERVERS = [
    "1 2 3 3 2 1 4 1 2 . . .",
    "1 2 3 3 2 2 4 1 2 5 . 3",
    ". 3 3 3 2 3 4 2 2 5 1 .",
    "1 2 3 3 2 4 4 1 2 5 1 .",
]


class Length(Filter):
    """The length of a caption."""

    needs = frozenset({"text"})

    def score(self, batch: Batch) -> Scores:
        return np.array([len(text) for text in batch.texts], np.float32)


def job_of(tmp_path: Path, *settings: str) -> Job:
    rows = [Row(f"{n:05d}", f"http://x/{n}", text, jpeg(n)) for n, text in enumerate(CAPTIONS)]
    write_metadata(tmp_path / "pool" / "a.parquet", rows)
    where = ["pool=img2dataset", f"pool.url={tmp_path / 'pool'}", f"results_dir={tmp_path}"]
    job = make_job("task=annotation", *where, *settings)
    job.filter = Length()
    return job


def sheet(tmp_path: Path, name: str, ratings: dict[str, Any], uids: Sequence[str] = ()) -> Path:
    path = tmp_path / f"{name}.csv"
    with path.open("w", newline="") as file:
        rows = zip(uids or [make_uid("", text) for text in ratings], ratings, ratings.values(), strict=True)
        csv.writer(file).writerows([("uid", "caption", "rating"), *rows])
    return path


def test_an_even_draw_takes_every_cell_before_a_second_of_one() -> None:
    rng = np.random.default_rng(0)
    scores = np.concatenate([rng.random((2, 300)), rng.random((2, 3000)) * 0.1], axis=1)
    cells = list(zip(*np.minimum((scores * BINS).astype(int), BINS - 1).tolist(), strict=True))
    order = spread(scores)
    assert sorted(order.tolist()) == list(range(3300))
    first = [cells[row] for row in order[: len(set(cells))]]
    assert set(Counter(first).values()) == {1}
    assert spread(np.array([[1.0, 1.2, -0.1], [1.0, 0.9, 0.0]])).tolist() == [0, 1, 2]


def test_the_form_and_the_sheet_show_captions_as_they_are(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    annotation(job_of(tmp_path, "task.count=10"))
    form, table = map(Path, capsys.readouterr().out.splitlines())
    html = form.read_text()
    assert html.count("<fieldset") == 5
    assert "&lt;script&gt;alert" in html
    assert "<script>alert" not in html
    assert html.count('type="radio"') == 5 * 4
    with table.open(newline="") as file:
        written = {row["caption"]: row for row in csv.DictReader(file)}
    assert set(written) == {*CAPTIONS} - {"=HYPERLINK(1)", "'tis hope"} | {"'=HYPERLINK(1)", "''tis hope"}
    assert {row["rating"] for row in written.values()} == {""}
    annotation(job_of(tmp_path, "task.question=informativeness"))
    assert Path(capsys.readouterr().out.splitlines()[0]).read_text().count('type="number"') == 5


def test_an_even_draw_scores_captions_first(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    class Halved(Length):
        def score(self, batch: Batch) -> Scores:
            return np.where([text == "a dog" for text in batch.texts], 0.9, 0.1).astype(np.float32)

    monkeypatch.setattr("pairsift.studies.annotation.make_filters", lambda *_: {"a": Halved(), "b": Halved()})
    for seed in range(2):
        annotation(job_of(tmp_path, "task.count=2", "task.draw=even", f"seed={seed}"))
        assert ",a dog," in Path(capsys.readouterr().out.splitlines()[-1]).read_text()


def test_ratings_are_read_back(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    sheets = []
    for n, line in enumerate(OBSERVERS):
        values = enumerate(line.split())
        ratings = {f"caption {unit}{'!' * unit}": value.strip(".") for unit, value in values}
        sheets.append(str(sheet(tmp_path, f"r{n}", ratings)))
    files = ",".join(sheets)
    annotation(job_of(tmp_path, "task.question=informativeness", f"task.ratings_back=[{files}]"))
    printed = capsys.readouterr().out
    assert " 0.849" in printed
    assert "12" in printed
    assert "Correlation on captions" in printed
    means = read_annotations(Path(printed.splitlines()[-1]))
    by_text = dict(zip(means.texts, means.ratings, strict=True))
    assert by_text["caption 1!"] == pytest.approx(9 / 4)
    assert by_text["caption 11!!!!!!!!!!!"] == 3
    guarded = {"'=HYPERLINK(1)": "0", "''tis hope": "2", "a dog": "3"}  # as the form writes them
    files = ",".join(str(sheet(tmp_path, name, guarded)) for name in ("a", "b"))
    annotation(job_of(tmp_path, f"task.ratings_back=[{files}]"))
    path = Path(capsys.readouterr().out.splitlines()[-1])
    assert read_annotations(path).texts == ["=HYPERLINK(1)", "'tis hope", "a dog"]


def job_with_images(tmp_path: Path, *settings: str) -> Job:
    """Two images: one comment of the first, there twice, and both of the second have less than ten characters."""
    job = job_of(tmp_path, "task.evaluation=coco", "+filter.minimum=10", *settings)
    comments = [["a dog", "a dog", "three words <i>", "four words here", "five words of it"], ["hm", "nice"]]
    for number in range(2):
        (tmp_path / f"{number}.jpg").write_bytes(jpeg(number))
    items = [Item(n, ImageFile(tmp_path / f"{n}.jpg"), of) for n, of in enumerate(comments)]
    chosen = EvaluationSet("coco", items, captioning=True, retrieval=True)
    job.evaluation_set = lambda _: chosen  # type: ignore[method-assign]
    return job


def test_comments_beside_their_images_are_counted_by_decision(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    settings = ["task.question=informativeness"]
    annotation(job_with_images(tmp_path, *settings))
    form, table = map(Path, capsys.readouterr().out.splitlines())
    assert form.read_text().count("data:image/jpeg;base64,") == 5
    assert "three words &lt;i&gt;" in form.read_text()
    assert form.name == "coco-informativeness-random-500-seed0.html"
    with table.open(newline="") as file:
        drawn = list(csv.DictReader(file))
    captions = {"a dog", "three words <i>", "four words here", "hm", "nice"}  # two at most of each decision
    assert {row["caption"] for row in drawn} == captions
    uids = [row["uid"] for row in drawn]
    rated = ({row["caption"]: 6 * len(row["caption"]) + more for row in drawn} for more in (0, 2))
    files = ",".join(str(sheet(tmp_path, name, of, uids)) for name, of in zip("ab", rated, strict=True))
    annotation(job_with_images(tmp_path, *settings, f"task.ratings_back=[{files}]"))
    lines = [line.split() for line in capsys.readouterr().out.splitlines()]
    assert ["accepted", "2", "0%", "100%", "91.00"] in lines
    assert ["discarded", "3", "100%", "0%", f"{(30 + 12 + 24) / 3 + 1:.2f}"] in lines
    page = (tmp_path / "annotation" / "ratings-informativeness.html").read_text()
    assert page.count("data:image/jpeg;base64,") == 5
    assert "three words &lt;i&gt;" in re.sub("</?span[^>]*>", "", page)


def test_captions_of_systems_are_rated_by_file(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    files = [tmp_path / "ns.json", tmp_path / "cs.json"]
    for number, file in enumerate(files):
        ids = [lambda image: image, str][number]  # some files quote them
        rows = [
            {"image_id": ids(image), "caption": f"{'wow ' * number}{image}"} for image in range(2 - number)
        ]
        file.write_text(json.dumps(rows))
    settings = ["task.question=quality", f"task.captions=[{files[0]},{files[1]}]"]
    annotation(job_with_images(tmp_path, *settings))
    with Path(capsys.readouterr().out.splitlines()[-1]).open(newline="") as file:
        drawn = list(csv.DictReader(file))
    assert sorted(row["caption"] for row in drawn) == ["0", "1", "wow 0"]
    ratings = {"0": (10, 10), "1": (50, 50), "wow 0": (90, 60)}
    job = job_with_images(tmp_path, *settings)
    means = {row["uid"]: float(np.mean(ratings[row["caption"]])) for row in drawn}
    show_by_origin(job, means, tmp_path / "page.html")
    page = " ".join(re.sub("<[^>]+>", " ", (tmp_path / "page.html").read_text()).split())
    assert f"{files[0]} 2 50% 50% 0% 30.00" in page
    assert f"{files[1]} 1 0% 0% 100% 75.00" in page
    with pytest.raises(UserError, match="must be ratings of the form that these settings draw"):
        show_by_origin(job, {"0" * 32: 1.0}, tmp_path / "page.html")
    files[0].write_text(json.dumps([{"image_id": "other", "caption": "a cat"}]))
    with pytest.raises(UserError, match=r"ns.json has no caption of an image of task.evaluation=coco"):
        annotation(job_with_images(tmp_path, *settings))
    with pytest.raises(UserError, match="evaluation=cocoa must be a set of evalset with captions"):
        annotation(job_of(tmp_path, "task.evaluation=cocoa"))
