"""open_clip's own trainer, as installed with this project, on tars that ``task=reshard`` wrote."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
import torch

from tests.command_line import run_main
from tests.demos import demo_model
from tests.pools import rows, write_pool

pytestmark = pytest.mark.full


def test_open_clip_trains_a_step_on_resharded_tars(tmp_path: Path) -> None:
    pool = write_pool(tmp_path / "pool", [rows(12), rows(12, start=12)])
    reshard = ["task=reshard", "pool=img2dataset", f"pool.url={pool}", "engine.workers=1"]
    assert run_main(*reshard, "filter=random", "size.samples=16", f"task.output={tmp_path / 'subset'}") == 0
    tar = tmp_path / "subset" / "shards" / "00000000.tar"  # sizes.json has the number of samples
    options = (
        f"--train-data={tar} --model=local-dir:{demo_model('clip')} --logs={tmp_path} --name=run --device=cpu"
    )
    recipe = "--precision=fp32 --batch-size=16 --epochs=1 --warmup=0 --workers=0"
    command = [sys.executable, "-m", "open_clip_train.main", *options.split(), *recipe.split()]
    environment = os.environ | {"CUDA_VISIBLE_DEVICES": "", "OMP_NUM_THREADS": "1"}
    done = subprocess.run(command, capture_output=True, text=True, cwd=tmp_path, env=environment, check=False)
    assert done.returncode == 0, done.stderr
    (loss,) = re.findall(r"Train Epoch: 0 \[16/16 \(100%\)\].* Loss: ([0-9.]+)", done.stderr)
    assert 1 < float(loss) < 5  # ln 16 is that of a guess
    saved = torch.load(tmp_path / "run" / "checkpoints" / "epoch_1.pt", weights_only=False)
    assert {int(state["step"]) for state in saved["optimizer"]["state"].values()} == {1}
