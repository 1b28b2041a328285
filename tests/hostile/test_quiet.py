"""What a run leaves behind and tells others: nothing but its results and its cache, and no credentials."""

import os
import subprocess
import sys
from collections.abc import Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from benchmark.cli.process import set_environment
from filters.ocr.rapid import model_file
from tests.conftest import BuildOnce
from tests.demos import draw, link
from tests.extras import needs_extra
from tests.pools import rows, write_pool
from tests.servers import Behaviour, http_server

ROOT = Path(__file__).resolve().parents[2]
SECRET = "hunter2"
DEMO = [
    "pool.demo.pairs=600", "pool.demo.shard_size=200", "pool.demo.evaluation={coco: 12, nocaps: 4, flickr30k: 8}",
]  # fmt: skip
READ_IMAGE = "import sys, benchmark, onnxruntime; onnxruntime.InferenceSession(sys.argv[1])"


def in_clean_folders(folder: Path, *command: str, without: Sequence[str] = ()) -> str:
    """Run Python where home, temporary and working folder are empty, as outside CI; return its stderr."""
    for name in ("home", "tmp", "cache", "work"):
        (folder / name).mkdir(exist_ok=True)
    homes = {"HOME": "home", "TMPDIR": "tmp", "XDG_CACHE_HOME": "cache"}
    environment = (
        os.environ | {name: str(folder / of) for name, of in homes.items()} | {"PYTHONPATH": str(ROOT)}
    )
    for name in ("CI", "ORT_DISABLE_TELEMETRY", *without):
        environment.pop(name, None)
    done = subprocess.run(
        [sys.executable, *command], cwd=folder / "work", env=environment, capture_output=True, text=True,
        timeout=900, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr[-3000:]
    return done.stderr


def left(folder: Path) -> dict[str, list[str]]:
    return {
        name: sorted(path.name for path in (folder / name).iterdir())
        for name in ("home", "tmp", "cache", "work")
    }


@needs_extra("ocr")
def test_onnxruntime_leaves_no_identifier_of_the_machine(tmp_path: Path) -> None:
    in_clean_folders(tmp_path, "-c", READ_IMAGE, str(model_file("det")))
    assert left(tmp_path) == {"home": [], "tmp": [], "cache": [], "work": []}


def test_ray_reports_no_usage(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("RAY_USAGE_STATS_ENABLED", "RAY_AUTH_MODE"):
        monkeypatch.delenv(name, raising=False)
    set_environment()  # before its launcher imports Ray
    assert os.environ["RAY_USAGE_STATS_ENABLED"] == "0"


@pytest.mark.full
def test_workers_without_a_home_folder_leave_nothing(
    build_once: BuildOnce, tmp_path_factory: pytest.TempPathFactory
) -> None:
    tmp_path = tmp_path_factory.mktemp("w")
    link(build_once("quiet", partial(draw, settings=DEMO)), tmp_path / "cache")
    stderr = in_clean_folders(
        tmp_path, "-m", "benchmark", "filter=clip", *DEMO, "size.samples=20000", "engine.workers=2",
        "downstream=dual_encoder", "downstream.dual_encoder.training.samples_seen=128",
        "downstream.dual_encoder.training.workers=2", "~evalset.classes", "metrics=[rouge_l]", without=["HOME"],
    )  # fmt: skip
    assert all(line[:2].isdigit() for line in stderr.splitlines() if "rror" in line or "arning" in line), (
        stderr
    )
    assert left(tmp_path) == {"home": [], "tmp": [], "cache": ["pairsift"], "work": ["results"]}


def secrets(*folders: Path) -> Iterator[Path]:
    """The files that have the password in their name or content."""
    for folder in folders:
        for path in folder.rglob("*"):
            if SECRET in str(path) or (path.is_file() and SECRET.encode() in path.read_bytes()):
                yield path


@pytest.mark.slow
@needs_extra("http")
def test_a_password_in_a_url_is_written_nowhere(run: Any, tmp_path: Path, cache: Path) -> None:
    for name in ("a", "b"):
        write_pool(tmp_path / "web" / name, [rows(30)])
    with http_server(tmp_path / "web", Behaviour()) as url:
        with_password = url.replace("://", f"://me:{SECRET}@")
        here, pools = f"pool.url={with_password}/a", f"pool.url={with_password}/a,{with_password}/absent"
        parts = [f"pool.url='{url}/none{mark}token={SECRET}'" for mark in "?;#"]
        commands = [
            ("task=select", "size.samples=30", here),
            ("task=export", "size.samples=30", here),
            ("task=reshard", "size.samples=30", here, f"task.output={tmp_path / 'out'}"),
            ("task=publish", here, f"task.output={tmp_path / 'scores'}"),
            ("task=doctor", "size.samples=30", here, "evalset=demo"),
            ("task=select", "size.samples=31", here),
            ("task=select", "size.samples=30,31", here),
            ("task=select", "size.samples=30", pools),
            *(("task=select", "size.samples=30", part) for part in parts),
        ]
        common = [
            "pool=img2dataset", "filter=no_filter", "engine.workers=1", f"results_dir={tmp_path / 'results'}",
        ]  # fmt: skip
        done = [run(*command, *common) for command in commands]
    assert [of.returncode for of in done][:4] == 4 * [0], done[0].stderr + done[2].stderr
    assert not any(SECRET in of.stdout + of.stderr for of in done)
    assert list(secrets(cache, tmp_path)) == []
