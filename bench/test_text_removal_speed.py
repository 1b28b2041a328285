"""Painting over text and scoring again, compared with a plain loop over whole images."""

import json
import pickle
from collections.abc import Iterator
from dataclasses import replace
from functools import partial
from pathlib import Path

import cv2
import numpy as np
import pytest
import torch
from PIL import Image

from bench.measurement import compare, measure
from benchmark.core.batch import Batch
from benchmark.models.clip_models import load_clip
from filters.ocr.rapid import RapidSpotter
from filters.text_removal import TextRemovedClip
from pairsift.demo.settings import demo_model
from tests.pools import numbered_uids
from tools.demo_world.draws import sample_pair
from tools.scale_models.data import pool_mix

pytestmark = pytest.mark.perf
CPU = torch.device("cpu")
CLIP = f"local-dir:{demo_model('clip')}"
IMPORTS = ("open_clip", "rapidocr", "onnxruntime")
COUNTS = {128: 64, 1024: 4}  # images by their width in pixels
BATCH = 32


def batch_of(size: int) -> Batch:
    """Pairs with text in all images, with the text's places and embeddings."""
    mix, count = replace(pool_mix(), texts={"words": 1.0}), COUNTS[size]
    drawn = [sample_pair("pool", index, 0, mix, size) for index in range(count)]
    images, texts = [Image.fromarray(p.image) for p in drawn], [p.caption for p in drawn]
    clip, spotter = load_clip(CLIP, None, CPU), RapidSpotter()
    spotter.setup(CPU)
    polygons = np.empty(count, object)
    for row, found in enumerate(spotter.detect(images)):
        polygons[row] = found
    features = {"image": clip.embed_images(images), "text": clip.embed_texts(texts), "polygons": polygons}
    return Batch(numbered_uids(count), texts, images, features=features)


@pytest.fixture(scope="module")
def batches(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the batch of each size: drawing and reading them takes longer than the measured work."""
    folder = tmp_path_factory.mktemp("batches")
    for size in COUNTS:
        (folder / f"{size}.pickle").write_bytes(pickle.dumps(batch_of(size)))
    return folder


def read_batch(path: str) -> Batch:
    batch = pickle.loads(Path(path).read_bytes())
    assert isinstance(batch, Batch)
    return batch


def ours(path: str, fill: str, scores: str) -> Iterator[None]:
    pairs, scorer = read_batch(path), TextRemovedClip(CLIP, None, RapidSpotter(), fill=fill)
    scorer.setup(CPU)
    yield
    starts = range(0, len(pairs), BATCH)
    parts = [scorer.score(pairs.take(range(at, min(at + BATCH, len(pairs))))) for at in starts]
    Path(scores).write_text(json.dumps(np.concatenate(parts).tolist()))


def plain_loop(path: str, scores: str) -> Iterator[None]:
    """Inpaint every image at its size, embed it in a batch of one."""
    pairs, clip, found = read_batch(path), load_clip(CLIP, None, CPU), []
    yield
    for image, text, polygons in zip(pairs.images, pairs.texts, pairs.features["polygons"], strict=True):
        mask = np.zeros((image.height, image.width), np.uint8)
        for polygon in polygons:
            cv2.fillPoly(mask, [np.reshape(polygon, (-1, 2)).astype(np.int32)], 255)
        painted = Image.fromarray(cv2.inpaint(np.array(image), mask, 3, cv2.INPAINT_TELEA))
        found.append(float(clip.embed_images([painted])[0] @ clip.embed_texts([text])[0]))
    Path(scores).write_text(json.dumps(found))


@pytest.mark.parametrize("fill", ["surround", "inpaint"])
@pytest.mark.parametrize("size", COUNTS)
def test_images_painted_and_scored(size: int, fill: str, batches: Path, tmp_path: Path) -> None:
    batch, scores, plain = str(batches / f"{size}.pickle"), tmp_path / "ours", tmp_path / "plain"
    row = compare(
        f"paint over text ({fill}) and score {COUNTS[size]} images of {size} pixels",
        partial(measure, ours, batch, fill, str(scores)),
        "plain loop, inpaint",
        partial(measure, plain_loop, batch, str(plain)),
        0.67,
    )
    if (size, fill) == (128, "inpaint"):
        assert json.loads(scores.read_text()) == pytest.approx(json.loads(plain.read_text()), abs=1e-4)
    assert row.ratio < 0.67
