"""``experiment=ds_clip`` as a whole, on a pool of sixty pairs: in one process, and in two of a launch."""

import io
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import webdataset as wds
from PIL import Image

from tests.command_line import Run
from tests.demos import demo_model
from tests.jobs import compose_config
from tests.paper_checkpoints import tiny_timm_vit
from tests.pools import rows, write_pool

ROOT = Path(__file__).resolve().parents[2]
SETS = ("coco", "flickr30k", "cifar10")
pytestmark = pytest.mark.full


def write_shard(folder: Path, samples: list[dict[str, Any]]) -> None:
    folder.mkdir(parents=True)
    with wds.ShardWriter(str(folder / "%d.tar"), verbose=0) as sink:
        for number, sample in enumerate(samples):
            buffer = io.BytesIO()
            Image.new("RGB", (32, 32), (60 * number, 90, 20)).save(buffer, "JPEG")
            sink.write({"__key__": f"s{number:07d}", "jpg": buffer.getvalue()} | sample)
    (folder / "nshards.txt").write_text("1\n")


@pytest.fixture(scope="module")
def given(tmp_path_factory: pytest.TempPathFactory) -> list[str]:
    """A user's settings: a pool, local copies of the hub's data sets and models, and a budget of three epochs."""
    folder = tmp_path_factory.mktemp("ds_clip")
    write_pool(folder / "pool", [rows(20), rows(20, start=20), rows(20, start=40)])
    tiny_timm_vit(folder / "dino", 32)
    for name in ("coco", "flickr30k"):
        write_shard(folder / name / "test", [{"txt": f"one of {i}\ntwo of {i}\n"} for i in range(4)])
    for split in ("train", "test"):
        write_shard(folder / "cifar10" / split, [{"cls": i % 2} for i in range(4)])
    (folder / "cifar10" / "classnames.txt").write_text("cat\ndog\n")
    others = compose_config("experiment=ds_clip", "pool.url=x").evalset.keys() - {*SETS, "limit"}
    sets = [
        *(f"evalset.{name}.url={folder / name}" for name in SETS),
        *(f"~evalset.{name}" for name in others),
    ]
    training = {"samples_seen": 30, "batch_size": 10, "checkpoint_every": 10, "workers": 1, "log_every": 1}
    clip = [f"models.clip.model=local-dir:{demo_model('clip')}", "models.clip.pretrained=null"]
    return [
        "experiment=ds_clip", f"pool.url={folder / 'pool'}", "size.samples=10", "selector.labels.clusters=3",
        f"embedding.model=local-dir:{folder / 'dino'}", *clip,
        f"models.dual_encoder.image={demo_model('vit')}", f"models.dual_encoder.text={demo_model('bert')}",
        *sets, *(f"downstream.dual_encoder.training.{name}={value}" for name, value in training.items()),
        "device=cpu",
    ]  # fmt: skip


def launch_two(*arguments: str) -> Any:
    """Run a launch of two processes, and return the output of both together."""
    launcher = [sys.executable, "-m", "torch.distributed.run", "--standalone", "--nproc-per-node", "2"]
    command = [*launcher, "-m", "benchmark", *arguments]
    return subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=600, check=False)


def result_of(done: Any) -> dict[str, Any]:
    assert done.returncode == 0, done.stderr[-3000:]
    (path,) = done.stdout.splitlines()  # only one process prints
    return dict(json.loads(Path(path).read_text()))


def test_two_processes_choose_train_and_evaluate_as_one(
    run: Run, given: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    one = result_of(run(*given, f"results_dir={tmp_path / 'one'}"))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    two = result_of(launch_two(*given, f"results_dir={tmp_path / 'two'}"))
    trained = one["downstream"]["dual_encoder"]
    assert (one["selection"]["k"], len(one["selection"]["files"])) == (10, 3)
    assert (trained["training"]["samples_seen"], trained["training"]["epochs"]) == (30, 3)
    evaluations = trained["evaluations"]
    assert set(evaluations) == {*SETS}
    assert {"zero_shot", "linear_probe"} <= {
        m["name"] for m in evaluations["cifar10"] if m["value"] is not None
    }
    assert two["selection"]["sha256"] == one["selection"]["sha256"]
    other = two["downstream"]["dual_encoder"]["training"]
    # Only dropout differs: each rank draws its own.
    assert other["final_loss"] == pytest.approx(trained["training"]["final_loss"], rel=0.1)
