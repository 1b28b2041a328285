"""task=fetch and evaluation sets of the paper, from servers on this machine."""

import json
import zipfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from benchmark.core import storage
from benchmark.core.paths import cache_folder
from benchmark.core.requirements import State
from benchmark.models.checkpoints import checkpoint_requirement, find_checkpoint
from benchmark.models.hub import MEGABYTES
from benchmark.pool.pool import Pool
from benchmark.run.config import CONF
from benchmark.run.identity import make_protocol, make_run_id
from downstream.metrics import spice
from tests.command_line import Done, Run, assert_lines
from tests.extras import needs_extra
from tests.jobs import make_job
from tests.pools import jpeg, rows, write_pool
from tests.servers import Behaviour, http_server, hub_server

ENTRY = {"split": "test", "filepath": "val2014", "sentences": [{"raw": "a cat"}]}


@pytest.fixture(autouse=True)
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(storage, "FIRST_WAIT", 0.01)


def write_zip(path: Path, members: dict[str, bytes]) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, data in members.items():
            archive.writestr(name, data)


@pytest.fixture
def web(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[tuple[str, Behaviour]]:
    """A server with COCO, NoCaps, Karpathy's splits and CoreNLP, and its address."""
    root, behaviour = tmp_path / "web", Behaviour()
    coco = [ENTRY | {"imgid": n, "filename": f"{n}.jpg"} for n in range(3)]
    coco[2]["split"] = "train"
    flickr = [{"split": "test", "imgid": 0, "filename": "0.jpg", "sentences": [{"raw": "a dog"}]}]
    splits = {"dataset_coco.json": coco, "dataset_flickr30k.json": flickr}
    members = {name: json.dumps({"images": of}).encode() for name, of in splits.items()}
    write_zip(root / "splits.zip", members)
    write_zip(root / "val2014.zip", {f"val2014/{n}.jpg": jpeg(n) for n in range(9)})
    write_zip(root / "nlp.zip", {f"{spice.CORENLP}/{jar}": b"jar" for jar in spice.CORENLP_JARS})
    (root / "0.jpg").write_bytes(jpeg(0))
    with http_server(root, behaviour) as url:
        images = [{"id": 0, "file_name": "a.jpg", "coco_url": f"{url}/0.jpg", "domain": "in-domain"}]
        nocaps = {"images": images, "annotations": [{"image_id": 0, "caption": "a cat"}]}
        (root / "nocaps.json").write_text(json.dumps(nocaps))
        monkeypatch.setattr(spice, "CORENLP_URL", f"{url}/nlp.zip")
        yield url, behaviour


@pytest.fixture
def command(web: tuple[str, Behaviour], tmp_path: Path) -> list[str]:
    url, _ = web
    return [
        "pool=img2dataset", f"pool.url={write_pool(tmp_path / 'pool', [rows(12)])}", "models=demo",
        "filter=random", "size.samples=5", "budget=50", f"results_dir={tmp_path / 'results'}",
        "metrics=[cider,spice]",
        f"evalset.coco.source.annotations={url}/splits.zip", f"evalset.coco.source.images={url}",
        f"evalset.nocaps.source.annotations={url}/nocaps.json",
        f"evalset.flickr30k.source.annotations={url}/splits.zip",
    ]  # fmt: skip


def names(folder: str) -> set[str]:
    root = cache_folder("data", folder)
    return {str(path.relative_to(root)) for path in root.rglob("*") if path.is_file()}


def by_hand(done: Done) -> list[str]:
    return done.stdout.partition("To get what is missing:\n")[2].splitlines()


@needs_extra("http")
def test_all_of_a_command_is_fetched_and_the_rest_is_named(
    run: Run, command: list[str], web: tuple[str, Behaviour]
) -> None:
    absent = run(*command, "evalset=paper")
    files = ("dataset_coco.json", "nocaps_val_4500_captions.json", "dataset_flickr30k.json")
    how = "is missing; run task=fetch with the same settings, set"
    assert_lines(absent, *(f"{file} {how}" for file in files))
    done = run("task=fetch", *command, "evalset=paper")
    assert "4 to get: 1,002 MB and things of unknown size." in done.stdout
    assert names("coco") == {"dataset_coco.json", "val2014/0.jpg", "val2014/1.jpg"}  # of the test split
    assert names("nocaps") == {"nocaps_val_4500_captions.json", "images/a.jpg"}
    assert names("flickr30k") == {"dataset_flickr30k.json"}
    assert {path.name for path in cache_folder("corenlp").iterdir()} == set(spice.CORENLP_JARS)
    assert by_hand(done) == []
    missing = " ".join(done.stdout.partition("\nno ")[2].split())
    assert "ask for them at https://shannon.cs.illinois.edu/DenotationGraph and put them there" in missing
    assert str(cache_folder("data", "flickr30k", "flickr30k-images")) in missing
    assert done.returncode == 2
    assert "error: this command cannot run without flickr30k" in done.stderr
    sent = len(web[1].gets)
    again = run("task=fetch", *command, "~evalset.flickr30k")
    assert (again.returncode, by_hand(again), len(web[1].gets)) == (0, [], sent)
    assert "0 to get: 0 MB." in again.stdout


@needs_extra("http")
def test_sets_that_cannot_be_had_are_left_out(
    run: Run,
    command: list[str],
    tmp_path: Path,
    caplog: pytest.LogCaptureFixture,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("COCO_ROOT", str(tmp_path / "coco"))
    coco = run(*command)
    assert_lines(coco, "dataset_coco.json is missing; run task=fetch with the same settings, set COCO_ROOT")
    done = run("task=fetch", *command)
    assert done.returncode == 0
    assert "https://shannon.cs.illinois.edu/DenotationGraph" in done.stdout
    assert (tmp_path / "coco" / "val2014" / "1.jpg").read_bytes() == jpeg(1)
    assert not cache_folder("data", "coco").exists()
    job = make_job(*command)
    job.check()
    assert [of.name for of in job.evaluation_sets] == ["coco", "nocaps"]
    assert "evalset: flickr30k is not on this machine, and left out; task=doctor says" in caplog.text
    assert make_protocol(job).overridden[-1] == "~evalset.flickr30k"
    typed = make_job(*command, "evalset=paper", "~evalset.flickr30k")
    assert make_protocol(typed).fingerprint == make_protocol(job).fingerprint
    assert make_run_id(typed, None) == make_run_id(job, None)
    monkeypatch.setenv("FLICKR30K_ROOT", "/nowhere")  # named by the user
    assert_lines(run(*command), "/nowhere/dataset_flickr30k.json is missing; run task=fetch")


@needs_extra("http")
def test_what_cannot_be_had_does_not_stop_the_rest(
    run: Run, command: list[str], tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """Nor does it stop the copy of a remote pool."""
    (tmp_path / "web" / "val2014.zip").unlink()
    pool, copy = tmp_path / "pool", tmp_path / "copy"
    others = [c for c in command if not c.startswith(("filter", "evalset.flickr30k", "pool.url"))]
    with http_server(pool, Behaviour()) as url:
        given = [*others, "~evalset.flickr30k", f"pool.url={url}", f"task.pool={copy}"]
        done = run("task=fetch", "filter=random,no_filter", *given)
    assert done.returncode == 2
    assert "val2014.zip: there is no such file" in caplog.text
    assert names("nocaps") == {"nocaps_val_4500_captions.json", "images/a.jpg"}
    assert done.stdout.count("To be fetched") == 1  # for both runs
    assert by_hand(done)[0].startswith("python -m benchmark task=fetch filter=random,no_filter pool=")
    files = {path.name: path.read_bytes() for path in pool.rglob("*") if path.is_file()}
    assert {path.name: path.read_bytes() for path in copy.iterdir()} == files
    assert len(Pool("p", str(copy)).tars) == len(Pool("p", str(copy)).metadata) == 1


def test_a_checkpoint_is_fetched_without_unused_files(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "models" / "some" / "net").mkdir(parents=True)
    for name in ("config.json", "model.safetensors", "pytorch_model.bin", "tf_model.h5", "64.tflite"):
        (tmp_path / "models" / "some" / "net" / name).write_bytes(name.encode())
    find_checkpoint.cache_clear()
    with hub_server(tmp_path, Behaviour(), monkeypatch):
        needed = checkpoint_requirement("some/net")
        assert (needed.state, needed.make is None) == (State.FIRST_USE, False)
        needed.make()
        monkeypatch.setattr("huggingface_hub.constants.HF_HUB_OFFLINE", True)
        there = checkpoint_requirement("some/net")
    assert there.state is State.PRESENT, there.detail
    assert {path.name for path in Path(there.detail).iterdir()} == {"config.json", "model.safetensors"}


def test_sizes_without_a_network_are_those_of_shipped_checkpoints(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_CACHE", str(tmp_path))
    configs = "".join(path.read_text() for group in ("models", "metrics") for path in CONF.glob(f"{group}/*"))
    for name, megabytes in MEGABYTES.items():
        assert name in configs
        needed = checkpoint_requirement(name)
        assert (needed.state, needed.size) == (State.MISSING, megabytes * 10**6)


def test_a_disk_that_is_too_small_is_said_first(
    run: Run, command: list[str], web: tuple[str, Behaviour]
) -> None:
    done = run("task=fetch", *command, f"evalset.coco.source.size={10**18}")
    assert (done.returncode, "make room, or set XDG_CACHE_HOME" in done.stderr) == (2, True)
    assert not web[1].gets
