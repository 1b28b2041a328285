"""Evaluation images that are planted in a pool."""

import io
from pathlib import Path

import fsspec
import numpy as np
import pytest
import torch
from PIL import Image

from benchmark.core.uids import encode_uids
from benchmark.engine.local import LocalEngine
from benchmark.pool.pool import Pool
from benchmark.results.contamination import NearImages, contamination
from benchmark.results.result import Contamination
from benchmark.run.open_samples import open_subset
from benchmark.scoring.score_pool import score_pool
from benchmark.selection.selection import Selection
from downstream.evaluation.evaluation_sets import EvaluationSet, Item
from downstream.evaluation.image_files import ImageFile
from filters.clip import Clip
from tests.demos import demo_model
from tests.pools import Row, jpeg, rows, write_pool


@pytest.fixture
def sets(tmp_path: Path) -> list[EvaluationSet]:
    """Two sets of three images that are not in a pool of `rows`."""
    made = []
    for name, start in (("coco", 100), ("flickr30k", 200)):
        items = []
        for number in range(start, start + 3):
            (tmp_path / f"{number}.jpg").write_bytes(jpeg(number))
            items.append(Item(number, ImageFile(tmp_path / f"{number}.jpg"), ["a thing"]))
        made.append(EvaluationSet(name, items, captioning=True, retrieval=True))
    return made


def count(
    pool: Pool, sets: list[EvaluationSet], kept: list[Row], near: NearImages | None = None
) -> dict[str, Contamination]:
    selection = Selection((np.sort(encode_uids([row.uid for row in kept])),), 0.0, 5, 1, 1, {})
    return contamination(pool, selection.uids, open_subset(pool, selection).pool, sets, near)


def test_planted_images_are_counted_and_warned_of(
    tmp_path: Path, sets: list[EvaluationSet], caplog: pytest.LogCaptureFixture
) -> None:
    samples = rows(8)
    samples[0].image, samples[1].image, samples[6].image = jpeg(100), jpeg(100), jpeg(201)
    pool = Pool("p", str(write_pool(tmp_path / "pool", [samples[:5], samples[5:]])))
    counts = count(pool, sets, samples[1:5])
    assert counts == {"coco": Contamination(2, 1), "flickr30k": Contamination(1, 0)}
    assert [record.getMessage() for record in caplog.records if record.levelname == "WARNING"] == [
        "contamination: 1 of 4 kept pairs have an image of coco (all with the same bytes)"
    ]
    assert count(pool, sets, samples[1:2])["coco"].kept == 1  # the first of the kept pairs
    caplog.clear()
    clean = Pool("p", str(write_pool(tmp_path / "clean", [rows(8)])))
    assert count(clean, sets, rows(4)) == {"coco": Contamination(0, 0), "flickr30k": Contamination(0, 0)}
    assert "contamination" not in caplog.text


def test_of_a_remote_pool_the_kept_pairs_are_checked(tmp_path: Path, sets: list[EvaluationSet]) -> None:
    samples = rows(8)
    samples[0].image = jpeg(100)
    samples[7].image = jpeg(200)
    local = write_pool(tmp_path / "pool", [samples])
    fsspec.filesystem("memory").put(str(local), "/contamination", recursive=True)
    counts = count(Pool("p", "memory://contamination"), sets, samples[:4])
    assert counts == {"coco": Contamination(None, 1), "flickr30k": Contamination(None, 0)}


def reencoded(data: bytes) -> bytes:
    buffer = io.BytesIO()
    Image.open(io.BytesIO(data)).save(buffer, "JPEG", quality=85)
    return buffer.getvalue()


def test_near_images_are_counted_where_embeddings_are_cached(
    tmp_path: Path, sets: list[EvaluationSet], caplog: pytest.LogCaptureFixture
) -> None:
    samples = rows(8)
    samples[1].image, samples[6].image = reencoded(jpeg(100)), jpeg(201)
    pool = Pool("p", str(write_pool(tmp_path / "pool", [samples[:5], samples[5:]])))
    clip = Clip(f"local-dir:{demo_model('clip')}")
    near = NearImages(clip.features[0], 0.99, torch.device("cpu"))
    unchecked = {"coco": Contamination(0, 0), "flickr30k": Contamination(1, 0)}
    assert count(pool, sets, samples[:4], near) == unchecked
    score_pool(pool, clip, LocalEngine("cpu", 1))
    assert count(pool, sets, samples[:4], near) == {
        "coco": Contamination(0, 0, near_pool=1, near_kept=1),
        "flickr30k": Contamination(1, 0, near_pool=1, near_kept=0),
    }
    assert "1 of 4 kept pairs have an image of coco (0 with the same bytes)" in caplog.text
