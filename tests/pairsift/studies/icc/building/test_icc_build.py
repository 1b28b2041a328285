"""The whole build, from captions to a scorer, with the demo's scale models and a handful of captions."""

import gc
import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import torch
from safetensors.torch import load_file

from benchmark.core.batch import Batch
from benchmark.core.errors import UserError
from benchmark.engine.local import LocalEngine
from benchmark.run.config import make_filter
from benchmark.run.job import Job
from pairsift.studies.icc.building.build import Build, ReconstructShard
from pairsift.studies.icc.building.icc_build import icc_build, make_plan
from tests.demos import demo_model
from tests.jobs import compose_config
from tests.pools import numbered_uids
from tools.scale_models.data import conceptual_captions

CPU = torch.device("cpu")
pytestmark = pytest.mark.slow
SMALL = [
    "experiment=icc_demo", "icc.training_captions=60", "icc.scoring_captions=20", "icc.bridge.epochs=1",
    "icc.distillation.epochs=1", "models.text_to_image.steps=2",
]  # fmt: skip


@pytest.fixture(autouse=True, scope="module")
def captions(tmp_path_factory) -> None:
    """The file that `python -m tools.demo_world captions` writes, with fewer captions."""
    path = tmp_path_factory.mktemp("captions") / "captions.parquet"
    pq.write_table(pa.table({"caption": conceptual_captions("scorer", 150, 0)}), path)
    SMALL.append(f"icc.captions.path={path}")


def config(*overrides: str):
    return compose_config(*SMALL, *overrides)


def build(cfg) -> Build:
    return Build(make_plan(cfg), Path(cfg.icc.output), LocalEngine("cpu", workers=1), CPU)


@pytest.fixture(scope="module")
def built(tmp_path_factory) -> Path:
    root = tmp_path_factory.mktemp("build")
    assert build(config(f"icc.output={root}")).run() == root / "icc" / "distilled" / "model"
    return root


def test_every_step_leaves_its_output(built):
    reconstructions = pq.read_table(built / "vba" / "reconstructions" / "00000.parquet")
    assert reconstructions.column_names == ["uid", "text", "reconstructions"]
    assert reconstructions.num_rows == 20
    assert {len(beams) for beams in reconstructions["reconstructions"].to_pylist()} == {5}
    scores = pq.read_table(built / "sba" / "scores" / "scores.parquet").to_pydict()
    assert set(scores) == {"uid", "text", "edit", "bertscore", "score"}
    assert 0.2 < np.median(scores["score"]) < 0.8
    labels = pq.read_table(built / "icc" / "combination" / "labels.parquet").to_pydict()
    assert labels["text"] == scores["text"]
    assert not list(built.glob("**/checkpoints"))
    assert not list(built.glob("**/*.jpg"))


def test_transformers_and_the_filter_load_the_scorer(built):
    from transformers import AutoModelForSequenceClassification, AutoTokenizer

    path = str(built / "icc" / "distilled" / "model")
    tokenizer = AutoTokenizer.from_pretrained(path)
    model = AutoModelForSequenceClassification.from_pretrained(path).eval()
    texts = ["a red boat on a lake", "what love is all about", "!"]
    with torch.no_grad():
        logits = model(**tokenizer(texts, padding=True, return_tensors="pt")).logits
    assert logits.shape == (3, 1)
    scorer = make_filter(config("filter=icc", f"filter.checkpoint={path}"))
    scorer.setup(CPU)
    np.testing.assert_allclose(scorer.score(Batch(numbered_uids(3), texts)), logits[:, 0], atol=1e-5)


@pytest.mark.parametrize(
    ("folder", "checkpoint"), [("null", "moranyanuka/icc"), ("/mine", "/mine/icc/distilled/model")]
)
def test_a_build_comes_before_the_released_scorer(folder, checkpoint):
    assert config("filter=icc", "models=paper", f"models.icc.build={folder}").filter.checkpoint == checkpoint


@pytest.mark.parametrize("name", ["sba", "vba", "icc"])
def test_direct_mode_gives_the_scores_of_the_build(built, name):
    rows = pq.read_table(built / "sba" / "scores" / "scores.parquet").to_pydict()
    texts = rows["text"][:6]
    scorer = make_filter(config(f"filter={name}", "filter.mode=direct", f"models.icc.build={built}"))
    scorer.setup(CPU)
    scores = scorer.score(Batch(numbered_uids(6), texts))
    if name == "icc":
        vba = pq.read_table(built / "vba" / "scores" / "scores.parquet")["score"].to_numpy()[:6]
        expected = scorer.combination(vba, np.array(rows["score"][:6], np.float32))
    else:
        path = built / name / "scores" / "scores.parquet"
        expected = pq.read_table(path)["score"].to_numpy()[:6]
    np.testing.assert_allclose(scores, expected, atol=2e-3)


@pytest.mark.parametrize(
    "role", ["text_to_image.checkpoint", "image_captioner.checkpoint", "icc.llm", "icc.base"]
)
def test_a_missing_model_is_reported_before_any_step(tmp_path, role):
    with pytest.raises(UserError, match="/nowhere is not there"):
        icc_build(Job(config(f"icc.output={tmp_path / 'build'}", f"models.{role}=/nowhere"), {}))
    assert not (tmp_path / "build").exists()


def test_new_annotations_rerun_only_the_last_steps(built, tmp_path, monkeypatch):
    """The build frees its models, and once finished does nothing."""
    root = tmp_path / "build"
    shutil.copytree(built, root)
    kept = [root / name for name in ("sba/bridge/model.safetensors", "vba/distilled/model/model.safetensors")]
    before = [path.stat().st_mtime_ns for path in kept]
    shutil.rmtree(root / "icc")
    made, models = build(config(f"icc.output={root}", "icc.annotations=null")), loaded_models()
    made.run()
    assert loaded_models() == models
    assert [path.stat().st_mtime_ns for path in kept] == before
    assert '"a": 13.2' in (root / "icc" / "combination" / "combination.json").read_text()
    labels = [pq.read_table(r / "icc" / "combination" / "labels.parquet") for r in (root, built)]
    assert labels[0]["sba"] == labels[1]["sba"]
    assert labels[0]["label"] != labels[1]["label"]
    monkeypatch.setattr(ReconstructShard, "setup", None)  # would fail when called
    times = {p: p.stat().st_mtime_ns for p in root.rglob("*") if p.is_file()}
    build(config(f"icc.output={root}", "icc.annotations=null")).run()
    assert {p: p.stat().st_mtime_ns for p in root.rglob("*") if p.is_file()} == times


def loaded_models() -> int:
    gc.collect()
    return sum(isinstance(thing, torch.nn.Linear) for thing in gc.get_objects())


@pytest.mark.full
def test_two_processes_build_once_and_train_as_one(built, tmp_path):
    command = ["torch.distributed.run", "--standalone", "--nproc-per-node=2", "-m", "benchmark", *SMALL]
    environment = os.environ | {"OMP_NUM_THREADS": "1", "CUDA_VISIBLE_DEVICES": ""}
    done = subprocess.run(
        [sys.executable, "-m", *command, f"icc.output={tmp_path}", "engine.workers=1"],
        env=environment, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr[-3000:]
    assert done.stdout.count(str(tmp_path / "icc" / "distilled" / "model")) == 1
    assert done.stderr.count(": started") == 10
    one, two = (load_file(root / "sba" / "bridge" / "model.safetensors") for root in (built, tmp_path))
    for name, tensor in one.items():
        torch.testing.assert_close(two[name], tensor, rtol=1e-3, atol=1e-6)
    drawn = [pq.read_table(root / "vba" / "reconstructions" / "00000.parquet") for root in (built, tmp_path)]
    assert drawn[0] == drawn[1]
    manifests = [(root / "icc" / "distilled" / "manifest.json").read_text() for root in (built, tmp_path)]
    losses = [json.loads(text)["facts"]["loss"] for text in manifests]
    assert losses[0] == pytest.approx(losses[1], rel=0.2)  # each process draws other dropout


def test_the_released_decoding_is_an_input_of_the_steps() -> None:
    ours, released = (
        make_plan(compose_config(*given)) for given in ((), ("icc/reading=release", "icc.mu=0.5"))
    )
    assert released.frozen.identity() == ours.frozen.identity() | {"first_token": "eos"}
    captioner = ours.vba.identity()["captioner"] | {"max_new_tokens": 20, "returned": 1}
    assert released.vba.identity()["captioner"] == captioner
    made = [plan.sba(str(Path(demo_model("icc"), "sba", "bridge"))).identity() for plan in (ours, released)]
    assert made[1] == made[0] | {
        "frozen": released.frozen.identity(), "max_new_tokens": 1024, "together": 2
    }  # fmt: skip
    assert (ours.mu, released.mu) == (0, 0.5)
