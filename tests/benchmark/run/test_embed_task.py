"""An evaluation set's image embeddings, as the filters that want a target take them."""

import json
import shutil
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch

from benchmark.core.errors import UserError
from benchmark.core.images import decode_image
from benchmark.models.clip_models import load_clip
from benchmark.results import contamination
from benchmark.run import embed as task
from benchmark.run.job import Job
from downstream import batching
from filters.embeddings.pool_embeddings import read_target
from tests.filters.checkpoints import open_clip_model
from tests.jobs import make_job
from tests.pools import jpeg, rows, write_pool


def configure(folder: Path, *overrides: str) -> Job:
    images = folder / "coco" / "val2014"
    images.mkdir(parents=True, exist_ok=True)
    entries = []
    for n in range(5):
        (images / f"{n}.jpg").write_bytes(jpeg(n))
        place = {"imgid": n, "filepath": "val2014", "filename": f"{n}.jpg", "split": "test"}
        entries.append(place | {"sentences": [{"raw": "a photo"}]})
    (folder / "coco" / "dataset_coco.json").write_text(json.dumps({"images": entries}))
    write_pool(folder / "pool", [rows(1)])
    common = [
        "task=embed", "task.evalset=coco", f"task.output={folder / 'out' / 'coco.npy'}", "pool=img2dataset",
        f"pool.url={folder / 'pool'}", "device=cpu", "models.clip.pretrained=null",
        f"models.clip.model={open_clip_model(folder / 'clip')}",
    ]  # fmt: skip
    return make_job(*common, *overrides)


@pytest.mark.parametrize("processes", [1, pytest.param(2, marks=pytest.mark.slow)])
def test_embeddings_are_in_the_order_of_the_set(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], processes: int
) -> None:
    monkeypatch.setattr(batching, "MANY_IMAGES", 1)
    monkeypatch.setattr(batching, "own_cores", lambda: processes)
    job = configure(tmp_path)
    monkeypatch.setenv("COCO_ROOT", str(tmp_path / "coco"))
    monkeypatch.setattr(contamination, "EMBEDDED_AT_ONCE", 2)
    task.embed(job)
    path = Path(capsys.readouterr().out.splitlines()[-1])
    assert path == tmp_path / "out" / "coco.npy"
    assert list(path.parent.iterdir()) == [path]
    clip = load_clip(job.cfg.models.clip.model, None, torch.device("cpu"))
    expected = clip.embed_images([decode_image(jpeg(n)) for n in range(5)])
    assert np.load(path).dtype == np.float16
    assert np.load(path).astype(np.float32) == pytest.approx(expected, abs=1e-3)
    assert np.ptp(expected, axis=0).max() > 0.01  # so that another order would show
    assert read_target(str(path)) == pytest.approx(expected, abs=1e-3)


def test_a_classification_set_gives_its_training_images(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    for number, split in enumerate(("test/cat", "test/dog", "train/cat", "train/dog")):
        (tmp_path / "pets" / split).mkdir(parents=True)
        (tmp_path / "pets" / split / "0.jpg").write_bytes(jpeg(number))
    pets = "{_target_: downstream.evaluation.classification_sets.image_folder, name: pets, score: accuracy, root: "
    job = configure(tmp_path, f"+evalset.pets={pets}{tmp_path / 'pets'}}}", "task.evalset=pets")
    clip = load_clip(job.cfg.models.clip.model, None, torch.device("cpu"))
    for images in ((2, 3), (0, 1)):
        task.embed(replace(job, built={}))
        path = Path(capsys.readouterr().out.splitlines()[-1])
        expected = clip.embed_images([decode_image(jpeg(n)) for n in images])
        assert np.load(path).astype(np.float32) == pytest.approx(expected, abs=1e-3)
        shutil.rmtree(tmp_path / "pets" / "train", ignore_errors=True)


def test_a_mistake_is_one_line_before_any_work(tmp_path: Path) -> None:
    job = configure(tmp_path, f"task.output={tmp_path / 'coco.pt'}")  # COCO_ROOT is not even set
    with pytest.raises(UserError, match=r"end in \.npy"):
        task.embed(job)
    job.cfg.task.evalset = "cocoa"
    with pytest.raises(UserError, match="did you mean 'coco'"):
        task.embed(job)
