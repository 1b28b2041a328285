"""Git LFS pointers in place of files: one line that says so, whatever reads them."""

import json
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from benchmark.core.errors import UserError
from benchmark.models.checkpoints import find_checkpoint
from benchmark.pool.other_captions import CaptionSources
from benchmark.pool.pool import Pool
from downstream.evaluation.evaluation_sets import karpathy, webdataset
from filters.embeddings.pool_embeddings import read_target
from filters.lexicon import Lexicon
from filters.score_file import ScoreFile
from filters.uid_list import UidList
from pairsift.studies.text_files import COMMAS, TextFile
from tests.command_line import Run, assert_one_line
from tests.demos import demo_model
from tests.pools import jpeg, rows, write_metadata, write_pool

POINTER = f"version https://git-lfs.github.com/spec/v1\noid sha256:{'0' * 64}\nsize 12345\n"
MESSAGE = r"is a Git LFS pointer.*, not the data; run `git lfs pull` in its repository"


def evaluation(folder: Path) -> None:
    entry = {"filename": "1.jpg", "imgid": 1, "split": "test", "sentences": [{"raw": "a dog"}]}
    (folder / "1.jpg").write_bytes(jpeg(0))
    for name in ("list.json", "1.jpg"):  # each in turn
        (folder / "list.json").write_text(json.dumps({"images": [entry]}))
        (folder / name).write_text(POINTER)
        with pytest.raises(UserError, match=f"{name} {MESSAGE}"):
            karpathy("x", str(folder / "list.json"), str(folder), captioning=True, retrieval=True)
    (folder / "test").mkdir()
    (folder / "test" / "nshards.txt").write_text("1")
    (folder / "test" / "0.tar").write_text(POINTER)
    webdataset("x", str(folder), captioning=True, retrieval=True)


def checkpoint(folder: Path) -> None:
    shutil.copytree(demo_model("vit"), folder / "vit")
    (weights,) = (folder / "vit").rglob("*.safetensors")
    weights.write_text(POINTER)
    find_checkpoint(str(folder / "vit"))


def captions(folder: Path, place: str) -> None:
    write_metadata(folder / "0.parquet", rows(2))
    (folder / "more").mkdir()
    files = [place.format(file(folder / "more", "1.parquet"))]
    CaptionSources(Pool("p", str(folder / "0.parquet")), files=files)


def file(folder: Path, name: str) -> str:
    (folder / name).write_text(POINTER)
    return str(folder / name)


READERS: dict[str, Callable[[Path], object]] = {
    "evaluation set": evaluation,
    "checkpoint": checkpoint,
    "captions in a folder": lambda folder: captions(folder, str(folder / "more")),
    "captions in a file": lambda folder: captions(folder, "{}"),
    "uids in .npy": lambda folder: UidList(file(folder, "a.npy")).identity(),
    "uids in .txt": lambda folder: UidList(file(folder, "a.txt")).identity(),
    "scores in .csv": lambda folder: ScoreFile(file(folder, "a.csv"), "score").identity(),
    "scores in .parquet": lambda folder: ScoreFile(file(folder, "a.parquet"), "score").identity(),
    "embeddings": lambda folder: read_target(file(folder, "a.npy")),
    "texts": lambda folder: TextFile("x", Path(file(folder, "a.csv")), COMMAS).columns(),
    "words": lambda folder: Lexicon(file(folder, "a.csv")).identity(),
    "pool of parquet files": lambda folder: Pool("p", str(Path(file(folder, "0.parquet")).parent)),
    "pool of tars": lambda folder: Pool("p", str(Path(file(folder, "0.tar")).parent)),
    "listed pool": lambda folder: Pool("p", file(folder, "0.tar")),
}


@pytest.mark.parametrize("kind", READERS)
def test_a_pointer_is_named_as_such(tmp_path: Path, kind: str) -> None:
    with pytest.raises(UserError, match=MESSAGE):
        READERS[kind](tmp_path)


def test_all_pointers_of_a_pool_are_counted(tmp_path: Path, run: Run) -> None:
    write_pool(tmp_path, [rows(2), rows(2, start=2), rows(2, start=4)])
    for name in ("00000000.tar", "00000002.tar"):
        (tmp_path / "shards" / name).write_text(POINTER)
    done = run("task=select", "pool=img2dataset", f"pool.url={tmp_path}", "filter=random", "size=5")
    line = "00000000.tar is a Git LFS pointer (as are 1 other files), not the data; run `git lfs"
    assert_one_line(done, line)
