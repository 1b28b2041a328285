"""Detection and recognition against the plain loop of RapidOCR's README, in turns, each in a separate process.

    python -m pytest -m perf -s bench/test_ocr_speed.py

On pictures of the demo's pool and one thread, as a worker has it; the models are loaded before measuring begins.
"""

import resource
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from PIL import Image

from bench.measurement import compare, measure
from filters.ocr.rapid import RapidSpotter
from tools.demo_world.draws import sample_pair
from tools.scale_models.data import pool_mix

pytestmark = pytest.mark.perf
COUNT = 32
IMPORTS = ("rapidocr", "onnxruntime")


def pictures() -> tuple[list[Image.Image], list[str]]:
    pairs = [sample_pair("pool", index, 0, pool_mix()) for index in range(COUNT)]
    return [Image.fromarray(pair.image) for pair in pairs], [pair.text for pair in pairs]


def loaded_spotter() -> RapidSpotter:
    torch.set_num_threads(1)
    spotter = RapidSpotter()
    spotter.setup(torch.device("cpu"))
    return spotter


def readme_loop() -> Any:
    from rapidocr import RapidOCR

    return RapidOCR(params={"Global.log_level": "error", "EngineConfig.onnxruntime.intra_op_num_threads": 1})


def batches() -> Iterator[None]:
    """Detection and recognition of all pictures, as the features do it."""
    images, _ = pictures()
    spotter = loaded_spotter()
    yield
    spotter.read(images, spotter.detect(images))


def one_by_one() -> Iterator[None]:
    """The README's loop."""
    images, _ = pictures()
    engine = readme_loop()
    yield
    for image in images:
        engine(np.asarray(image)[:, :, ::-1])


def read_share(texts: list[str], read: list[list[str]]) -> float:
    words = [
        (word, " ".join(lines).split())
        for text, lines in zip(texts, read, strict=True)
        for word in text.split()
    ]
    return float(np.mean([word in lines for word, lines in words]))


def test_detection_and_recognition_against_the_readme() -> None:
    work = f"read the text in {COUNT} pictures of 128 x 128"
    row = compare(work, partial(measure, batches), "RapidOCR's loop", partial(measure, one_by_one), 0.1)
    assert row.ours.cpu_seconds < 0.1 * row.of_reference.cpu_seconds


def test_as_many_words_are_read_as_by_the_readme() -> None:
    images, texts = (of_all[:24] for of_all in pictures())
    spotter, engine = loaded_spotter(), readme_loop()
    lines = spotter.read(images, spotter.detect(images))
    plain = [engine(np.asarray(image)[:, :, ::-1]) for image in images]
    ours = read_share(texts, [[line.text for line in of_image] for of_image in lines])
    theirs = read_share(texts, [list(result.txts or ()) for result in plain])
    print(f"\nwords read exactly: {ours:.2f}, the README's loop {theirs:.2f}")
    assert ours > theirs - 0.1


def test_memory_does_not_grow_with_the_images() -> None:
    """Pictures of many sizes, several times: memory does not grow after the first pass."""
    rng = np.random.default_rng(0)
    sizes = [tuple(int(v) for v in rng.integers(40, 500, 2)) for _ in range(32)]
    images = [image.resize(size) for image, size in zip(pictures()[0], sizes, strict=False)]
    spotter = loaded_spotter()
    resident = []
    for _ in range(6):
        spotter.read(images, spotter.detect(images))
        pages = int(Path("/proc/self/statm").read_text().split()[1])
        resident.append(pages * resource.getpagesize() / 2**20)
    print("\nMiB resident after each pass:", [round(r) for r in resident])
    assert resident[-1] < resident[1] + 40
