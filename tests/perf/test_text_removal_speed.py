"""Painting over text and scoring again, against the plain loop of one whole image at a time."""

import time
from dataclasses import replace

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
from tests.pools import numbered_uids

pytestmark = pytest.mark.perf
CPU = torch.device("cpu")
CLIP = f"local-dir:{demo_model('clip')}"
COUNT = 512


def batch_of(count: int, size: int) -> Batch:
    """Pairs whose images all hold text, with the places where it is and their embeddings."""
    mix = replace(pool_mix(), texts={"words": 1.0})
    drawn = [sample_pair("pool", index, 0, mix, size) for index in range(count)]
    images, texts = [Image.fromarray(p.image) for p in drawn], [p.caption for p in drawn]
    clip, spotter = load_clip(CLIP, None, CPU), RapidSpotter()
    spotter.setup(CPU)
    polygons = np.empty(count, object)
    for row, found in enumerate(spotter.detect(images)):
        polygons[row] = found
    features = {"image": clip.embed_images(images), "text": clip.embed_texts(texts), "polygons": polygons}
    return Batch(numbered_uids(count), texts, images, features=features)


def plain_loop(batch: Batch) -> list[float]:
    """Inpaint every image as it is, embed it alone."""
    clip, scores = load_clip(CLIP, None, CPU), []
    for image, text, found in zip(batch.images, batch.texts, batch.features["polygons"], strict=True):
        mask = np.zeros((image.height, image.width), np.uint8)
        for polygon in found:
            cv2.fillPoly(mask, [np.reshape(polygon, (-1, 2)).astype(np.int32)], 255)
        painted = Image.fromarray(cv2.inpaint(np.array(image), mask, 3, cv2.INPAINT_TELEA))
        scores.append(float(clip.embed_images([painted])[0] @ clip.embed_texts([text])[0]))
    return scores


@pytest.mark.parametrize("size", [128, 1024])
def test_images_inpainted_and_scored_per_second(size: int) -> None:
    batch = batch_of(COUNT if size == 128 else 48, size)
    rates = {}
    for fill in ("surround", "inpaint"):
        scorer = TextRemovedClip(CLIP, None, RapidSpotter(), fill=fill)
        scorer.setup(CPU)
        started = time.perf_counter()
        ours = np.concatenate(
            [scorer.score(batch.take(range(at, min(at + 64, len(batch))))) for at in range(0, len(batch), 64)]
        )
        rates[fill] = len(batch) / (time.perf_counter() - started)
    few = batch.take(range(len(batch) // 4))
    started = time.perf_counter()
    theirs = plain_loop(few)
    rates["plain loop, inpaint"] = len(few) / (time.perf_counter() - started)
    print(f"\n{size} pixels, images/s:", {name: round(rate, 1) for name, rate in rates.items()})
    if size == 128:
        assert ours[: len(few)] == pytest.approx(theirs, abs=1e-4)
    assert rates["inpaint"] > 1.5 * rates["plain loop, inpaint"]
