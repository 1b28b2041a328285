"""Images a second of detection and of recognition, against the plain loop of RapidOCR's README, in one run.

    python -m pytest -m perf -s tests/perf/test_ocr_speed.py

On pictures of the demo's pool and one thread, as a worker has it. Rates are per second of processor time, so that
other work on the machine does not count; `PAIRSIFT_PERF_IMAGES` sets how many pictures.
"""

import os
import resource
import time
from collections.abc import Callable, Iterator

import numpy as np
import pytest
import torch
from PIL import Image

from benchmark.demo.draws import sample_pair
from benchmark.demo.training.data import pool_mix
from filters.ocr.rapid import RapidSpotter

pytestmark = pytest.mark.perf
COUNT = int(os.environ.get("PAIRSIFT_PERF_IMAGES", "512"))
POOL = 80_000
BATCH = 128
PLAIN = 24  # images for the README's loop


@pytest.fixture(autouse=True)
def one_thread() -> Iterator[None]:
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)


@pytest.fixture(scope="module")
def pictures() -> tuple[list[Image.Image], list[str]]:
    pairs = [sample_pair("pool", index, 0, pool_mix()) for index in range(COUNT)]
    return [Image.fromarray(p.image) for p in pairs], [p.text for p in pairs]


def timed(work: Callable[[], object]) -> tuple[object, float]:
    started = time.process_time()
    return work(), time.process_time() - started


def read_share(texts: list[str], read: list[list[str]]) -> float:
    words = [
        (word, " ".join(lines).split())
        for text, lines in zip(texts, read, strict=True)
        for word in text.split()
    ]
    return float(np.mean([word in lines for word, lines in words]))


def test_detection_and_recognition_against_the_readme(pictures) -> None:
    from rapidocr import RapidOCR

    images, texts = pictures
    starts = range(0, COUNT, BATCH)
    spotter = RapidSpotter()
    spotter.setup(torch.device("cpu"))
    spotter.read(images[:BATCH], spotter.detect(images[:BATCH]))  # warm
    found, detecting = timed(lambda: [p for s in starts for p in spotter.detect(images[s : s + BATCH])])
    lines, reading = timed(
        lambda: [x for s in starts for x in spotter.read(images[s : s + BATCH], found[s : s + BATCH])]
    )
    memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20

    engine = RapidOCR(
        params={"Global.log_level": "error", "EngineConfig.onnxruntime.intra_op_num_threads": 1}
    )
    engine(np.asarray(images[0])[:, :, ::-1])
    plain, looping = timed(lambda: [engine(np.asarray(image)[:, :, ::-1]) for image in images[:PLAIN]])

    each = (detecting + reading) / COUNT
    ours = read_share(texts[:PLAIN], [[line.text for line in of_image] for of_image in lines[:PLAIN]])
    theirs = read_share(texts[:PLAIN], [list(result.txts or ()) for result in plain])
    print(
        f"\n{COUNT} pictures of 128 x 128 on one thread: detection {COUNT / detecting:.0f}/s, "
        f"{sum(map(len, found)) / COUNT:.2f} lines a picture, recognition {COUNT / reading:.0f}/s, "
        f"both {1 / each:.0f}/s ({each * 1000:.1f} ms); the README's loop {PLAIN / looping:.1f}/s "
        f"({looping / PLAIN * 1000:.0f} ms).\n"
        f"Words read exactly of the first {PLAIN}: {ours:.2f}, the loop {theirs:.2f}. "
        f"The pool of {POOL} on two processes: {POOL * each / 2 / 60:.1f} min. Peak memory {memory:.2f} GiB."
    )
    assert looping / PLAIN > 10 * each
    assert ours > theirs - 0.1
    assert each < 0.025


def test_memory_does_not_grow_with_the_images(pictures) -> None:
    """Pictures of many sizes, again and again: what the first pass took is all that is taken."""
    rng = np.random.default_rng(0)
    sizes = [tuple(int(v) for v in rng.integers(40, 500, 2)) for _ in range(32)]
    images = [image.resize(size) for image, size in zip(pictures[0], sizes, strict=False)]
    spotter = RapidSpotter()
    spotter.setup(torch.device("cpu"))
    resident = []
    for _ in range(6):
        spotter.read(images, spotter.detect(images))
        with open("/proc/self/statm") as file:  # noqa: PTH123
            resident.append(int(file.read().split()[1]) * resource.getpagesize() / 2**20)
    print("\nMiB resident after each pass:", [round(r) for r in resident])
    assert resident[-1] < resident[1] + 40
