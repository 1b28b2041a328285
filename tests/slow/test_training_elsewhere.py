"""Folders of ``task=reshard`` and ``task=publish`` as others read them: open_clip, `datasets` and `mlcroissant`."""

import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest
import torch

from benchmark.core.batch import Batch
from benchmark.core.uids import decode_uids, encode_uids, read_subset
from benchmark.scoring import published
from filters.random import Random
from tests.command_line import run_main
from tests.demos import demo_model
from tests.pools import rows, write_pool

pytestmark = pytest.mark.slow


@pytest.fixture
def reshard(tmp_path: Path) -> list[str]:
    """The command that writes 16 of 24 pairs, whose JSON has fields of several types, to ``subset``."""
    samples = rows(24)
    for number, sample in enumerate(samples):
        sample.extra = {"exif": None if number < 9 else {"Make": [number]}, f"only_{number}": number}
    samples[17].files = samples[17].members() | {"cls": b"3"}
    pool = write_pool(tmp_path / "pool", [samples[:12], samples[12:]])
    settings = ["task=reshard", "pool=img2dataset", f"pool.url={pool}", "engine.workers=1", "filter=random"]
    return [*settings, "size.samples=16", f"task.output={tmp_path / 'subset'}"]


def test_open_clip_trains_a_step_with_the_command_of_the_card(reshard: list[str], tmp_path: Path) -> None:
    assert run_main(*reshard) == 0
    folder = tmp_path / "subset"
    (command,) = re.findall(
        r"^python (-m open_clip_train.*?)\n```", (folder / "README.md").read_text(), re.M | re.S
    )
    options = (
        f"--model=local-dir:{demo_model('clip')} --logs={tmp_path} --name=run --device=cpu --precision=fp32"
    )
    step = [
        *shlex.split(command.replace("\\\n", "")),
        *options.split(),
        "--epochs=1",
        "--warmup=0",
        "--workers=0",
    ]
    environment = os.environ | {"CUDA_VISIBLE_DEVICES": "", "OMP_NUM_THREADS": "1"}
    done = subprocess.run(
        [sys.executable, *step], capture_output=True, text=True, cwd=folder, env=environment, check=False
    )
    assert done.returncode == 0, done.stderr
    (loss,) = re.findall(r"Train Epoch: 0 \[16/16 \(100%\)\].* Loss: ([0-9.]+)", done.stderr)
    assert 1 < float(loss) < 5  # ln 16 is that of a guess
    saved = torch.load(tmp_path / "run" / "checkpoints" / "epoch_1.pt", weights_only=False)
    assert {int(state["step"]) for state in saved["optimizer"]["state"].values()} == {1}


def test_datasets_and_mlcroissant_read_a_folder_whose_writing_was_killed(
    reshard: list[str], tmp_path: Path
) -> None:
    import datasets
    import mlcroissant

    assert run_main(*reshard) == 0
    folder = tmp_path / "subset"
    whole = {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()}
    for name in (
        "README.md",
        "croissant.json",
        "sample_ids.npy",
        "shards/sizes.json",
    ):  # what is written last
        (folder / name).unlink()
    assert run_main(*reshard) == 0
    assert {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()} == whole

    chosen = decode_uids(read_subset(folder / "sample_ids.npy"))
    original = {row.uid: row for row in rows(24)}
    read = datasets.load_dataset(str(folder), split="train", cache_dir=str(tmp_path / "cache"))
    assert sorted(row["json"]["uid"] for row in read) == chosen
    for row in read.cast_column("jpg", datasets.Image(decode=False)):
        pair = original[row["json"]["uid"]]
        assert (row["txt"], row["jpg"]["bytes"]) == (pair.text, pair.image)
    streamed = datasets.load_dataset(str(folder), split="train", streaming=True)
    assert [row["json"] for row in streamed] == list(read["json"])

    described = mlcroissant.Dataset(folder / "croissant.json").metadata
    assert not described.ctx.issues.errors
    assert [files.id for files in described.distribution] == ["tars", "jpg", "json"]


def test_datasets_read_published_scores_of_several_files(
    reshard: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    import datasets

    monkeypatch.setattr(published, "ROWS", 10)
    assert run_main("task=publish", *reshard[1:5], f"task.output={tmp_path / 'scores'}") == 0
    read = datasets.load_dataset(str(tmp_path / "scores"), split="train", cache_dir=str(tmp_path / "cache"))
    assert read.column_names == ["uid", "url_hash", "score"]
    scores = Random(0).score(Batch(encode_uids(read["uid"]), [""] * 24))
    assert list(read["score"]) == scores.tolist()
