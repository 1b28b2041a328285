"""``benchmark.api``: the code of docs/python_api.md, run as it stands there."""

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from benchmark import api
from benchmark.api import evaluate, score, select
from benchmark.core.errors import UserError
from benchmark.core.uids import decode_uids, encode_uids, read_subset
from benchmark.pool.pool import Pool
from benchmark.run.config import CONF
from downstream.evaluation.evaluation_sets import EvaluationSet, ImageFile, Item
from downstream.models.published import PublishedClip
from filters.column import Column
from filters.random import Random
from tests.demos import SMALL_RUN
from tests.filters.checkpoints import open_clip_model
from tests.pools import jpeg, rows, write_metadata, write_pool

PAGE = (CONF.parent / "docs" / "python_api.md").read_text()
EXAMPLES = re.findall(r"^```python\n(.*?)^```$", PAGE, re.M | re.S)


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The files that the page speaks of, in the working folder."""
    monkeypatch.chdir(tmp_path)
    write_pool(tmp_path / "my_pool", [rows(30), rows(30, start=30)])
    references = {1: "a black cat sits on a mat", 2: "two dogs run on the beach"}
    images = [{"id": i, "file_name": f"{i}.jpg"} for i in references]
    annotations = [{"image_id": i, "caption": caption} for i, caption in references.items()]
    content = {"images": images, "annotations": annotations}
    (tmp_path / "captions_val2014.json").write_text(json.dumps(content))
    captions = [{"image_id": i, "caption": caption} for i, caption in references.items()]
    (tmp_path / "my_captions.json").write_text(json.dumps(captions))
    return tmp_path


def test_the_pages_stages_run(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    _, stages, evaluating = EXAMPLES
    scope: dict[str, Any] = {}
    exec(compile(stages, "stages", "exec"), scope)
    printed = capsys.readouterr().out.splitlines()
    assert printed[-1] == "ScoreTable(60 pairs, dropped: none) ['uid', 'url', 'caption', 'score']"
    chosen = read_subset(folder / "chosen.npy")
    assert np.isin(chosen, encode_uids([row.uid for row in rows(60)])).all()
    kept = scope["table"].to_arrow(chosen)
    assert dict(zip(kept["uid"].to_pylist(), kept["caption"].to_pylist(), strict=True)).keys() == set(
        decode_uids(chosen)
    )
    assert {row.uid: row.text for row in rows(60)}.items() >= set(
        zip(kept["uid"].to_pylist(), kept["caption"].to_pylist(), strict=True)
    )
    assert (scope["folder"] / "model").is_dir()
    exec(compile(evaluating, "evaluating", "exec"), {})
    values = {line.split()[0]: float(line.split()[1]) for line in capsys.readouterr().out.splitlines()}
    assert values["CIDEr"] == pytest.approx(10)  # the captions are the references
    assert values["BLEU-4"] == pytest.approx(1)
    assert (folder / "scores").is_dir()


def test_a_pool_object_brings_its_columns(tmp_path: Path) -> None:
    write_metadata(tmp_path / "a.parquet", rows(3), quality=[0.5, float("nan"), 0.7])
    table = score(Pool("p", str(tmp_path), {"text": "text"}), Column("quality"))
    selection = select(table, 1)
    assert selection.uids.tolist() == encode_uids([rows(3)[2].uid]).tolist()
    with pytest.raises(UserError, match="2 have a score"):
        select(table, 3)


@pytest.mark.slow
def test_a_clip_model_is_evaluated_on_images(tmp_path: Path) -> None:
    items = []
    for number in range(3):
        (tmp_path / f"{number}.jpg").write_bytes(jpeg(number))
        items.append(Item(number, ImageFile(tmp_path / f"{number}.jpg"), [f"thing {number}"]))
    images = EvaluationSet("photos", items, captioning=False, retrieval=True)
    results = evaluate(
        PublishedClip(open_clip_model(tmp_path / "clip"), None), [images], [], tmp_path / "out"
    )
    assert {metric.name: metric.count for metric in results["photos"]}["text_to_image_R@1"] == 3


def test_a_missing_pool_is_a_user_error(tmp_path: Path) -> None:
    with pytest.raises(UserError, match=r"nosuch must be a folder with"):
        score(tmp_path / "nosuch", Random())


@pytest.mark.slow
def test_a_run_its_report_and_its_results(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, small_demo: list[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    result = api.run(*small_demo, *SMALL_RUN, "filter=random")
    (recall,) = [m for m in result.metrics("dual_encoder", "coco") if m.name == "text_to_image_R@1"]
    assert repr(result) == f"Result({result.run_id})"
    finished = (tmp_path / "results" / f"{result.run_id}.json").stat().st_mtime_ns
    assert api.run(*small_demo, *SMALL_RUN, "filter=random") == result
    assert (tmp_path / "results" / f"{result.run_id}.json").stat().st_mtime_ns == finished
    assert api.report().is_file()
    rows_of = api.load_results().to_dict("records")
    assert [
        row["value"] for row in rows_of if row["metric"] == recall.name and row["evaluation"] == "coco"
    ] == [recall.value]


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: api.get_filter("clpi"), "filter=clpi is unknown; did you mean 'clip'?"),
        (lambda: api.get_metric("cidr"), "metrics=cidr is unknown; did you mean 'cider'?"),
        (lambda: api.get_model("both"), "downstream=both is 2 models; name one of captioner, dual_encoder"),
        (lambda: api.run("filter=icc,clip"), "filter=icc,clip must give each setting one value"),
        (lambda: api.run("fliter=icc"), "there is no setting 'fliter'; did you mean filter=icc?"),
        (lambda: api.load_results("nowhere"), "results_dir=nowhere holds no results"),
        (lambda: api.report("nowhere"), "results_dir=nowhere holds no results"),
        (
            lambda: api.report("s3://bucket/results"),
            "results_dir=s3://bucket/results must be on this machine",
        ),
    ],
)
def test_mistakes_are_user_errors(call: Callable[[], object], message: str) -> None:
    with pytest.raises(UserError, match=re.escape(message)):
        call()
