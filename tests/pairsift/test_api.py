"""``pairsift``, which is ``pairsift.api``: the code of docs/python_api.md, run as it is there; wrong calls."""

import json
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import pairsift
from benchmark.cli.overrides import normalised
from benchmark.core.uids import decode_uids, encode_uids, read_subset
from benchmark.run.config import CONF
from downstream.evaluation.evaluation_sets import EvaluationSet, ImageFile, Item
from downstream.models.published import PublishedClip
from filters.column import Column
from filters.random import Random
from pairsift import Bounds, Pool, UserError, api, evaluate, score, select
from tests.filters.checkpoints import open_clip_model
from tests.jobs import compose_config
from tests.pools import jpeg, rows, write_metadata, write_pool

PAGE = (CONF.parent / "docs" / "python_api.md").read_text()
EXAMPLES = re.findall(r"^```python\n(.*?)^```$", PAGE, re.M | re.S)
# A run of seconds on the demo of `tests.demos`: one model, few samples, one metric, two evaluation sets.
DEMO = {"pairs": 2000, "shard_size": 500, "evaluation": {"coco": 24, "nocaps": 6, "flickr30k": 12}}
SMALL: dict[str, Any] = {
    "pool.demo": DEMO, "engine.workers": 1, "downstream.dual_encoder.training.samples_seen": 256,
    "~evalset.nocaps": None, "~evalset.classes": None,
}  # fmt: skip
ONE_MODEL: dict[str, Any] = {"size": 20_000, "downstream": ["dual_encoder"], "metrics": ["rouge_l"]}


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


def test_bounds_of_a_named_filter_count_at_the_selection(tmp_path: Path) -> None:
    numbers = [*range(9), float("nan")]
    write_metadata(tmp_path / "a.parquet", rows(10), quality=numbers)
    table = score(tmp_path, "column", {"filter": {"column": "quality", "minimum": 3, "maximum": 5}})
    assert table.bounds == Bounds(minimum=3, maximum=5)
    passing = [row.uid for row in rows(10)[3:6]]
    assert sorted(decode_uids(select(table, 3).uids)) == sorted(passing)
    with pytest.raises(UserError, match="3 have a score"):
        select(table, 4)
    assert len(select(table, 9, bounds=Bounds()).uids) == 9
    mine = score(
        tmp_path, Column("quality"), {"filter.minimum": 8}
    )  # settings of bounds count for an object, too
    assert decode_uids(select(mine, 1).uids) == [rows(10)[8].uid]


def test_a_pool_of_ones_own_is_scored_with_the_papers_checkpoints() -> None:
    assert api.get_filter("icc").checkpoint == "moranyanuka/icc"
    assert "demo" in str(api.get_filter("icc", {"models": "demo"}).checkpoint)


@pytest.mark.slow
def test_a_run_its_report_and_its_results(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, small_demo: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    result = pairsift.run(SMALL, filter="random", **ONE_MODEL)
    (recall,) = [m for m in result.metrics("dual_encoder", "coco") if m.name == "text_to_image_R@1"]
    assert repr(result) == f"Result({result.run_id})"
    finished = (tmp_path / "results" / f"{result.run_id}.json").stat().st_mtime_ns
    assert pairsift.run(SMALL, filter="random", **ONE_MODEL) == result
    assert (tmp_path / "results" / f"{result.run_id}.json").stat().st_mtime_ns == finished
    capsys.readouterr()
    assert pairsift.report().is_file()
    assert "random" in capsys.readouterr().out
    rows_of = pairsift.load_results().to_dict("records")
    assert [
        row["value"] for row in rows_of if row["metric"] == recall.name and row["evaluation"] == "coco"
    ] == [recall.value]


@pytest.mark.parametrize(
    ("settings", "overrides"),
    [
        ({"filter": "icc", "size": 200_000, "budget": "2m"}, "filter=icc size=200k budget=2000000"),
        ({"size": 250_000.0, "seed": np.int64(3)}, "size.samples=250000 seed=3"),
        ({"size": "10%", "filter": {"rank": False}}, "size.samples=10% filter.rank=false"),
        ({"evalset.limit": None, "results_dir": Path("/data/a")}, "evalset.limit=null results_dir=/data/a"),
        ({"metrics": ["cider", "bleu"], "~evalset.nocaps": None}, "metrics=[cider,bleu] ~evalset.nocaps"),
        ({"icc": "demo", "icc.reading": "ours"}, "icc=demo icc/reading=ours"),
    ],
)
def test_values_are_those_of_the_same_command(settings: dict[str, Any], overrides: str) -> None:
    job = api._job(settings, {})
    assert " ".join(job.overrides) == overrides
    assert job.cfg == compose_config(*overrides.split())


@pytest.mark.parametrize(
    "text",
    [
        " ", "a b", "a,b", "[a]", "{a: 1}", "a=b", "$", "${seed}", "\\${seed}", "\\\\${seed}", '"', "'", 'say "no"',
        "back\\slash\\", "ü", "日本", "null", "NaN", "1", "-1.5", ".5e3", "1_000", "#", "a#b", "(a)", "two\nlines",
        "s3://b/{0..9}.tar?x=1&y=2",
    ],
)  # fmt: skip
def test_text_is_taken_literally(text: str) -> None:
    job = api._job({"results_dir": text, "captions.files": [text]}, {})
    assert (job.cfg.results_dir, job.cfg.captions.files[0]) == (text, text)
    (typed, _) = normalised(list(job.overrides))  # the record is the command that gives this text
    assert compose_config(typed).results_dir == text


def wrong(call: Callable[[Path], object], message: str) -> Any:
    return pytest.param(call, message, id=re.sub(r"\W+", "-", message)[:50])


ARRAY = np.zeros(3)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        wrong(lambda _: api.get_filter("clpi"), "filter=clpi is unknown; did you mean 'clip'?"),
        wrong(lambda _: api.get_filter(["icc"]), "name=['icc'] must be a valid string"),
        wrong(lambda _: api.get_metric("cidr"), "metrics=cidr is unknown; did you mean 'cider'?"),
        wrong(lambda _: api.get_metric("default"), "metrics=default is "),
        wrong(
            lambda _: api.get_model("both"), "downstream=both is 2 parts; name one of captioner, dual_encoder"
        ),
        wrong(lambda _: api.run("filter=icc"), "settings='filter=icc' must be a valid dictionary"),
        wrong(lambda _: api.run({}, "icc"), "run: unexpected positional argument"),
        wrong(lambda _: api.run(fliter="icc"), "there is no argument 'fliter'; did you mean 'filter'?"),
        wrong(lambda _: api.run({"fliter": "icc"}), "there is no setting 'fliter'; did you mean filter=icc?"),
        wrong(lambda _: api.run({"--cfg": "job"}), "--cfg must be the name of a setting"),
        wrong(lambda _: api.run({"a b": 1}), "a b must be the name of a setting"),
        wrong(lambda _: api.run({"task": "select"}), "run(...) makes whole runs"),
        wrong(lambda _: api.run({"plan": True}), "run(...) makes whole runs"),
        wrong(lambda _: api.run({"experiment": "icc_table1"}), "experiment=icc_table1 lists several runs"),
        wrong(
            lambda _: api.run({"filter": ["icc", "clip"]}),
            "filter=icc,clip lists several runs; call once for each",
        ),
        wrong(lambda _: api.run({"filter.minimum": "low"}), "filter.minimum=low must be a number"),
        wrong(lambda _: api.run({"seed": object()}), "must be text, a number, True, False, None, a path"),
        wrong(lambda _: api.run(filter="icc,clip"), "filter=icc,clip is unknown"),
        wrong(lambda _: api.run(filter=Random()), "filter=Random(seed=0) must be a valid string"),
        wrong(lambda _: api.run(size=ARRAY), "must be a valid integer or a valid string"),
        wrong(lambda _: api.run(size=0), "size=0 must be"),
        wrong(lambda _: api.run(seed=[0, 1]), "seed=[0, 1] must be a valid integer"),
        wrong(
            lambda _: api.run(pool="demoo"),
            "pool=demoo must be a folder, a URL or a name; did you mean 'demo'?",
        ),
        wrong(lambda _: api.run(results_dir="s3://b/r"), "results_dir=s3://b/r must be on this machine"),
        wrong(lambda _: api.load_results("nowhere"), "results_dir=nowhere holds no results"),
        wrong(lambda _: api.load_results(ARRAY), "results_dir=array([0., 0., 0.]) must be"),
        wrong(lambda _: api.report("nowhere"), "results_dir=nowhere holds no results"),
        wrong(
            lambda _: api.report("s3://bucket/results"),
            "results_dir=s3://bucket/results must be on this machine",
        ),
        wrong(lambda _: score("nowhere", "icc"), "pool=nowhere must be a folder, a URL or a name"),
        wrong(lambda folder: score(folder / "nosuch", Random()), "nosuch must be a folder with"),
        wrong(lambda _: score(ARRAY, "icc"), "pool=array([0., 0., 0.]) must be"),
        wrong(lambda folder: score(folder / "my_pool"), "score: missing required argument filter"),
        wrong(lambda folder: score(folder / "my_pool", Random), "must be an instance of Filter"),
        wrong(lambda folder: score(folder / "my_pool", "random", device="tpu"), "device='tpu' "),
        wrong(
            lambda folder: score(folder / "my_pool", "random", workers=0), "workers=0 must be greater than 0"
        ),
        wrong(lambda folder: select(table(folder), "a"), "k='a' must be a valid integer"),
        wrong(lambda folder: select(table(folder), 0), "k=0 must be greater than 0"),
        wrong(lambda folder: select(table(folder), 61), "size asks for 61 pairs, but 60 have a score"),
        wrong(lambda folder: select(table(folder), 2, seed=-1), "seed=-1 must be greater than or equal to 0"),
        wrong(lambda folder: select(table(folder), 2, ARRAY), "path=array([0., 0., 0.]) must be"),
        wrong(
            lambda folder: select(table(folder), 2, folder),
            "must be a file, such as chosen.npy, and is a folder",
        ),
        wrong(lambda folder: select(table(folder), 2, "/proc/x.npy"), "path=/proc cannot be written"),
        wrong(lambda _: select("my_pool", 2), "table='my_pool' must be an instance of ScoreTable"),
        wrong(
            lambda folder: train_on_another_pool(folder), "none of the 5 selected uids is in the tars of pool"
        ),
        wrong(
            lambda folder: evaluate(folder / "nofile", [], [], "out"), "nofile cannot be read as COCO results"
        ),
        wrong(
            lambda _: evaluate(untrained(), [], [], "out"),
            "model=dual_encoder must be trained; call train(...)",
        ),
        wrong(lambda _: evaluate("a.json", "coco", [], "out"), "sets='coco' "),
        wrong(lambda _: evaluate("a.json", [], ["cider"], "out"), "must be an instance of CaptionMetric"),
    ],
)
def test_mistakes_are_user_errors(folder: Path, call: Callable[[Path], object], message: str) -> None:
    with pytest.raises(UserError, match=re.escape(message)):
        call(folder)


def table(folder: Path) -> pairsift.ScoreTable:
    return score(folder / "my_pool", Random())


def untrained() -> Any:
    return api.get_model("dual_encoder", {"models": "demo"})


def train_on_another_pool(folder: Path) -> object:
    write_pool(folder / "other", [rows(30, start=100)])
    return api.train(folder / "other", select(table(folder), 5), untrained())


def test_pairsift_is_imported_fast_and_brings_the_same_objects() -> None:
    code = "import sys, pairsift; assert not {'numpy', 'hydra', 'torch'} & set(sys.modules); pairsift.run"
    code += "; assert 'torch' not in sys.modules; from pairsift import *; print(Filter.__name__, UserError.__name__)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert (done.stdout, done.stderr) == ("Filter UserError\n", "")
    assert pairsift.run is api.run
    assert set(pairsift.__all__) == set(api.__all__)
    with pytest.raises(AttributeError, match="no attribute 'nosuch'"):
        _ = pairsift.nosuch


def test_python_m_pairsift_is_the_command_line() -> None:
    done = subprocess.run(
        [sys.executable, "-m", "pairsift", "--version"], capture_output=True, text=True, check=False
    )
    assert done.stdout == f"pairsift {pairsift.__version__}\n"
