"""Evaluation sets that are cut, damaged or made to mislead are refused in one line, before anything is trained."""

from pathlib import Path
from typing import Any

import pytest

from benchmark.core.errors import UserError
from benchmark.core.paths import cache_folder
from downstream.evaluation.evaluation_sets import EvaluationSet, coco_captions, karpathy, webdataset
from tests.command_line import Run, assert_one_line
from tests.hostile.hostile_evaluation_sets import (
    COUNTS,
    ENTRIES,
    GOOD,
    KEYS,
    NOT_JSON,
    ODD_FILES,
    TARS,
    karpathy_file,
    pair,
    write_webdataset,
)  # fmt: skip
from tests.hostile.hostile_tars import END
from tests.pools import jpeg, rows, write_pool


def in_tars(folder: Path) -> EvaluationSet:
    return webdataset("tars", str(folder), captioning=True, retrieval=True)


def refused(load: Any, *arguments: Any) -> str:
    with pytest.raises(UserError) as error:
        load(*arguments)
    assert "\n" not in str(error.value)
    return str(error.value)


@pytest.mark.parametrize("name", TARS)
def test_a_tar_that_is_not_whole_is_refused(tmp_path: Path, name: str) -> None:
    path = write_webdataset(tmp_path)
    assert len(in_tars(tmp_path)) == len(KEYS)
    data, message = TARS[name]
    path.write_bytes(data)
    assert message in refused(in_tars, tmp_path)


@pytest.mark.parametrize("cut", range(1, len(GOOD) + 1, 499))
def test_a_tar_is_refused_wherever_it_is_cut(tmp_path: Path, cut: int) -> None:
    write_webdataset(tmp_path).write_bytes(GOOD[:cut])
    assert "cut or damaged" in refused(in_tars, tmp_path)


@pytest.mark.parametrize("kind", ODD_FILES)
def test_a_tar_must_be_a_file(tmp_path: Path, kind: str) -> None:
    path = write_webdataset(tmp_path)
    path.unlink()
    ODD_FILES[kind](path)
    assert "0.tar cannot be fetched" in refused(in_tars, tmp_path)


@pytest.mark.parametrize("kind", COUNTS)
def test_an_odd_count_of_tars_is_refused(tmp_path: Path, kind: str) -> None:
    write_webdataset(tmp_path).with_name("nshards.txt").write_bytes(COUNTS[kind])
    assert "must hold the number of shards" in refused(in_tars, tmp_path)


@pytest.mark.parametrize("image", [jpeg(1)[:400], b"", b"<html>404</html>"])
def test_an_image_that_cannot_be_decoded_is_refused_with_its_set(tmp_path: Path, image: bytes) -> None:
    """The fingerprint is part of the protocol, which is made before the training."""
    write_webdataset(tmp_path).write_bytes(GOOD + pair("d", image=image) + END)
    found = in_tars(tmp_path)
    assert "0.tar cannot be read (image_unreadable); fetch it again" in refused(found.fingerprint)
    assert in_tars(tmp_path).first(len(KEYS)).fingerprint()


@pytest.mark.slow
def test_a_run_with_half_a_tar_ends_before_anything_is_scored(run: Run, tmp_path: Path) -> None:
    write_webdataset(tmp_path / "set").write_bytes(GOOD[: len(GOOD) // 2])
    write_pool(tmp_path / "pool", [rows(12)])
    target = "_target_: downstream.evaluation.evaluation_sets.webdataset"
    evalset = f"{{{target}, name: half, url: {tmp_path / 'set'}, captioning: true, retrieval: true}}"
    others = [f"~evalset.{name}" for name in ("coco", "nocaps", "flickr30k")]
    pool = ["pool=img2dataset", f"pool.url={tmp_path / 'pool'}", "models=demo", "size.samples=5", "budget=50"]
    results = f"results_dir={tmp_path / 'results'}"
    done = run("filter=random", *pool, *others, f"+evalset.half={evalset}", results)
    assert_one_line(done, "evaluation set half: ")
    assert "0.tar is cut or damaged, or not a tar; fetch it again" in done.stderr
    assert not cache_folder("scores").exists()


def of_file(folder: Path, text: str) -> EvaluationSet:
    for number in range(3):
        (folder / f"{number}.jpg").write_bytes(jpeg(number))
    (folder / "a.json").write_text(text)
    return karpathy("file", str(folder / "a.json"), str(folder), captioning=True, retrieval=True)


@pytest.mark.parametrize("kind", NOT_JSON)
def test_json_without_bounds_is_refused(tmp_path: Path, kind: str) -> None:
    assert "must be JSON" in refused(of_file, tmp_path, NOT_JSON[kind])


@pytest.mark.parametrize("kind", ENTRIES)
def test_an_odd_entry_is_refused(tmp_path: Path, kind: str) -> None:
    assert len(of_file(tmp_path, karpathy_file())) == 3
    assert "evaluation set file: " in refused(of_file, tmp_path, karpathy_file(**ENTRIES[kind]))


@pytest.mark.parametrize("images", ["5", "[5]", '{"a": 1}'])
def test_annotations_of_another_shape_are_refused(tmp_path: Path, images: str) -> None:
    (tmp_path / "a.json").write_text(f'{{"images": {images}, "annotations": []}}')
    message = refused(coco_captions, "coco", str(tmp_path / "a.json"), None, True, True)
    assert "must be a COCO captions file" in message
