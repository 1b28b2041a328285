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
from pairsift import Bounds, Pool, ScoreTable, UserError, api, evaluate, score, select
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


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The files that the page names."""
    folder = tmp_path_factory.mktemp("files")
    write_pool(folder / "my_pool", [rows(30), rows(30, start=30)])
    write_pool(folder / "other", [rows(3, start=100)])
    references = {1: "a black cat sits on a mat", 2: "two dogs run on the beach"}
    captions = [{"image_id": i, "caption": caption} for i, caption in references.items()]
    content = {"images": [{"id": i, "file_name": f"{i}.jpg"} for i in references], "annotations": captions}
    (folder / "captions_val2014.json").write_text(json.dumps(content))
    (folder / "my_captions.json").write_text(json.dumps(captions))
    return folder


@pytest.fixture
def folder(files: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    for path in files.iterdir():
        (tmp_path / path.name).symlink_to(path)
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture(scope="module")
def table(files: Path) -> ScoreTable:
    return score(files / "my_pool", Random())


@pytest.mark.slow
def test_the_pages_stages_run(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    _, stages, evaluating = EXAMPLES
    scope: dict[str, Any] = {}
    exec(compile(stages, "stages", "exec"), scope)
    printed = capsys.readouterr().out.splitlines()
    assert printed[-1] == "ScoreTable(60 pairs, dropped: none) ['uid', 'url', 'caption', 'score']"
    chosen = read_subset(folder / "chosen.npy")
    assert np.isin(chosen, encode_uids([row.uid for row in rows(60)])).all()
    kept = scope["table"].to_arrow(chosen)
    captions = dict(zip(kept["uid"].to_pylist(), kept["caption"].to_pylist(), strict=True))
    assert captions.keys() == set(decode_uids(chosen))
    assert {row.uid: row.text for row in rows(60)}.items() >= captions.items()
    assert (scope["folder"] / "model").is_dir()
    exec(compile(evaluating, "evaluating", "exec"), {})
    values = {line.split()[0]: float(line.split()[1]) for line in capsys.readouterr().out.splitlines()}
    assert values["CIDEr"] == pytest.approx(10)  # the captions are the references
    assert values["BLEU-4"] == pytest.approx(1)
    assert (folder / "scores").is_dir()


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
    pool = Pool("p", str(tmp_path), {"text": "text"})
    mine = score(
        pool, Column("quality"), {"filter.minimum": 8}
    )  # settings of bounds count for an object, too
    assert decode_uids(select(mine, 1).uids) == [rows(10)[8].uid]


def test_a_run_has_the_pool_that_it_was_given(tmp_path: Path) -> None:
    write_pool(tmp_path / "pool", [rows(3)])
    (tmp_path / "list.txt").write_text(rows(1)[0].uid)
    given = Pool(
        "p", str(tmp_path / "pool"), {"text": "t"}, 10, ["secret"], ["UNLIKELY"], str(tmp_path / "list.txt")
    )
    for pool in given, Pool("q", str(tmp_path / "pool")):
        found = api._job(None, {"pool": pool}).pool
        names = "name", "url", "columns", "scale", "hidden", "nsfw", "exclude"
        assert [getattr(found, name) for name in names] == [getattr(pool, name) for name in names]


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
    loaded = pairsift.load_results().query("metric == @recall.name and evaluation == 'coco'")
    assert loaded["value"].tolist() == [recall.value]


@pytest.mark.parametrize(
    ("settings", "overrides"),
    [
        (
            {"filter": "icc", "size": 200_000, "seed": np.int64(3), "budget": "2m", "results_dir": Path("/data/a"),
             "evalset.limit": None, "metrics": ["cider", "bleu"], "~evalset.nocaps": None},
            "filter=icc size=200k seed=3 budget=2000000 results_dir=/data/a evalset.limit=null metrics=[cider,bleu]"
            " ~evalset.nocaps",
        ),
        (
            {"size": "10%", "filter": {"rank": False}, "icc": "demo", "icc.reading": "ours"},
            "size.samples=10% filter.rank=false icc=demo icc/reading=ours",
        ),
        ({"size": 250_000.0}, "size.samples=250000"),
    ],
)  # fmt: skip
def test_values_are_those_of_the_same_command(settings: dict[str, Any], overrides: str) -> None:
    job = api._job(settings, {})
    assert " ".join(job.overrides) == overrides
    assert job.cfg == compose_config(*overrides.split())


TEXTS = [
    " ", "a b", "a,b", "[a]", "{a: 1}", "a=b", "$", "${seed}", "\\${seed}", "\\\\${seed}", '"', "'", 'say "no"',
    "back\\slash\\", "ü", "日本", "null", "NaN", "1", "-1.5", ".5e3", "1_000", "#", "a#b", "(a)", "two\nlines",
    "s3://b/{0..9}.tar?x=1&y=2",
]  # fmt: skip


def test_text_is_taken_literally() -> None:
    job = api._job({"captions.files": TEXTS}, {})
    assert list(job.cfg.captions.files) == TEXTS
    typed = normalised(list(job.overrides))  # the record is the command that gives these texts
    assert list(compose_config(*typed).captions.files) == TEXTS
    for text in ("a b", "\\${seed}", "null", "-1.5", "two\nlines"):
        job = api._job({"results_dir": text}, {})
        assert compose_config(*normalised(list(job.overrides))).results_dir == job.cfg.results_dir == text


ARRAY = np.zeros(3)
Call = Callable[[Path, ScoreTable], object]
WRONG: list[tuple[Call, str]] = [
    (lambda *_: api.get_filter("clpi"), "filter=clpi is unknown; did you mean 'clip'?"),
    (lambda *_: api.get_filter(["icc"]), "name=['icc'] must be a valid string"),
    (lambda *_: api.get_metric("default"), "metrics=default is "),
    (lambda *_: api.get_model("both"), "downstream=both is 2 parts; name one of captioner, dual_encoder"),
    (lambda *_: api.run("filter=icc"), "settings='filter=icc' must be a valid dictionary"),
    (lambda *_: api.run({}, "icc"), "run: unexpected positional argument"),
    (lambda *_: api.run(fliter="icc"), "there is no argument 'fliter'; did you mean 'filter'?"),
    (lambda *_: api.run({"fliter": "icc"}), "there is no setting 'fliter'; did you mean filter=icc?"),
    (lambda *_: api.run({"--cfg": "job"}), "--cfg must be the name of a setting"),
    (lambda *_: api.run({"a b": 1}), "a b must be the name of a setting"),
    (lambda *_: api.run({"task": "select"}), "run(...) makes whole runs"),
    (lambda *_: api.run({"plan": True}), "run(...) makes whole runs"),
    (lambda *_: api.run({"experiment": "icc_table1"}), "experiment=icc_table1 lists several runs"),
    (
        lambda *_: api.run({"filter": ["icc", "clip"]}),
        "filter=icc,clip lists several runs; call once for each",
    ),
    (lambda *_: api.run({"filter.minimum": "low"}), "filter.minimum=low must be a number"),
    (lambda *_: api.run({"seed": object()}), "must be text, a number, True, False, None, a path"),
    (lambda *_: api.run(filter="icc,clip"), "filter=icc,clip is unknown"),
    (lambda *_: api.run(size=ARRAY), "must be a valid integer or a valid string"),
    (lambda *_: api.run(pool="demoo"), "pool=demoo must be a folder, a URL or a name; did you mean 'demo'?"),
    (lambda *_: api.run(results_dir="s3://b/r"), "results_dir=s3://b/r must be on this machine"),
    (lambda *_: api.load_results("nowhere"), "results_dir=nowhere holds no results"),
    (lambda *_: api.load_results(ARRAY), "results_dir=array([0., 0., 0.]) must be"),
    (lambda *_: api.report("nowhere"), "results_dir=nowhere holds no results"),
    (lambda *_: api.report("s3://bucket/results"), "results_dir=s3://bucket/results must be on this machine"),
    (lambda *_: score("nowhere", "icc"), "pool=nowhere must be a folder, a URL or a name"),
    (lambda folder, _: score(folder / "nosuch", Random()), "nosuch must be a folder with"),
    (lambda folder, _: score(folder / "my_pool"), "score: missing required argument filter"),
    (lambda folder, _: score(folder / "my_pool", Random), "must be an instance of Filter"),
    (lambda folder, _: score(folder / "my_pool", "random", device="tpu"), "device='tpu' "),
    (lambda folder, _: score(folder / "my_pool", "random", workers=0), "workers=0 must be greater than 0"),
    (lambda _, table: select(table, 0), "k=0 must be greater than 0"),
    (lambda _, table: select(table, 61), "size asks for 61 pairs, but 60 have a score"),
    (lambda _, table: select(table, 2, seed=-1), "seed=-1 must be greater than or equal to 0"),
    (lambda folder, table: select(table, 2, folder), "must be a file, such as chosen.npy, and is a folder"),
    (lambda _, table: select(table, 2, "/proc/x.npy"), "path=/proc cannot be written"),
    (lambda *_: select("my_pool", 2), "table='my_pool' must be an instance of ScoreTable"),
    (
        lambda folder, table: api.train(folder / "other", select(table, 5), untrained()),
        "none of the 5 selected uids is in the tars of pool",
    ),
    (lambda folder, _: evaluate(folder / "no", [], [], "out"), "no cannot be read as COCO results"),
    (lambda *_: evaluate(untrained(), [], [], "out"), "model=dual_encoder must be trained; call train(...)"),
    (lambda *_: evaluate("a.json", "coco", [], "out"), "sets='coco' "),
    (lambda *_: evaluate("a.json", [], ["cider"], "out"), "must be an instance of CaptionMetric"),
]


@pytest.mark.parametrize(("call", "message"), WRONG, ids=[message for _, message in WRONG])
def test_mistakes_are_user_errors(folder: Path, table: ScoreTable, call: Call, message: str) -> None:
    with pytest.raises(UserError, match=re.escape(message)):
        call(folder, table)


def untrained() -> Any:
    return api.get_model("dual_encoder", {"models": "demo"})


def test_pairsift_is_imported_fast_and_is_the_command_line() -> None:
    code = """import runpy, sys, pairsift
assert not {"numpy", "hydra", "torch"} & set(sys.modules)
pairsift.run
assert "torch" not in sys.modules
from pairsift import *
print(Filter.__name__, UserError.__name__)
sys.argv = ["pairsift", "--version"]
runpy.run_module("pairsift", run_name="__main__")"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert (done.stdout, done.stderr) == (f"Filter UserError\npairsift {pairsift.__version__}\n", "")
    assert pairsift.run is api.run
    assert set(pairsift.__all__) == set(api.__all__)
    with pytest.raises(AttributeError, match="no attribute 'nosuch'"):
        _ = pairsift.nosuch
