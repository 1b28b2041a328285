"""Painting over text and scoring again, beside the plain loop of one whole image at a time."""

import json
from collections.abc import Iterator
from dataclasses import replace
from functools import partial
from pathlib import Path

import cv2
import numpy as np
import pytest
import torch
from PIL import Image

from benchmark.config import demo_model
from benchmark.core.batch import Batch
from benchmark.demo.draws import sample_pair
from benchmark.demo.training.data import pool_mix
from benchmark.models.clip_models import load_clip
from filters.ocr.rapid import RapidSpotter
from filters.text_removal import TextRemovedClip
from tests.perf.measurement import compare, measure
from tests.pools import numbered_uids

pytestmark = pytest.mark.perf
CPU = torch.device("cpu")
CLIP = f"local-dir:{demo_model('clip')}"
COUNTS = {128: 64, 1024: 4}  # images by their width in pixels
BATCH = 32


def batch_of(size: int) -> Batch:
    """Pairs whose images all hold text, with the places where it is and their embeddings."""
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


def ours(size: int, fill: str, scores: str) -> Iterator[None]:
    pairs, scorer = batch_of(size), TextRemovedClip(CLIP, None, RapidSpotter(), fill=fill)
    scorer.setup(CPU)
    yield
    starts = range(0, len(pairs), BATCH)
    parts = [scorer.score(pairs.take(range(at, min(at + BATCH, len(pairs))))) for at in starts]
    Path(scores).write_text(json.dumps(np.concatenate(parts).tolist()))


def plain_loop(size: int, scores: str) -> Iterator[None]:
    """Inpaint every image as it is, embed it alone."""
    pairs, clip, found = batch_of(size), load_clip(CLIP, None, CPU), []
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
def test_images_painted_and_scored(size: int, fill: str, tmp_path: Path) -> None:
    scores, plain = tmp_path / "ours", tmp_path / "plain"
    row = compare(
        f"paint over text ({fill}) and score {COUNTS[size]} images of {size} pixels",
        partial(measure, ours, size, fill, str(scores)),
        "plain loop, inpaint",
        partial(measure, plain_loop, size, str(plain)),
        0.67,
    )
    if (size, fill) == (128, "inpaint"):
        assert json.loads(scores.read_text()) == pytest.approx(json.loads(plain.read_text()), abs=1e-4)
    assert row.ratio < 0.67
