"""Images through a model: processes that read, decode and preprocess, against doing all of it in series."""

import io
import os
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
import torch
from PIL import Image

from benchmark.config import demo_model
from benchmark.core.pixel_workers import PixelWorkers, Preprocessing
from benchmark.core.usage import Seconds, now, since
from benchmark.models.clip_models import ClipModel, load_clip
from benchmark.pool.tar_index import TarIndex
from benchmark.pool.tar_reader import TarImage, read_images, read_pixels
from tests.pools import numbered_uids

pytestmark = pytest.mark.perf
CPU = torch.device("cpu")
CORES = len(os.sched_getaffinity(0))
IMAGES, SIDE, BATCH = 1024, 512, 256
PAIRS = 3  # runs of each way, in turns; the median ratio counts


@pytest.fixture(scope="module")
def tar(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, TarIndex]:
    """A file of JPEGs of one size, and where they lie."""
    rng = np.random.default_rng(0)
    files = []
    for _ in range(16):
        coarse = Image.fromarray(rng.integers(0, 255, (SIDE // 8, SIDE // 8, 3), dtype=np.uint8))
        encoded = io.BytesIO()
        coarse.resize((SIDE, SIDE * 3 // 4), Image.Resampling.BICUBIC).save(encoded, "JPEG", quality=90)
        files.append(encoded.getvalue())
    path = tmp_path_factory.mktemp("images") / "images.tar"
    path.write_bytes(b"".join(files[number % 16] for number in range(IMAGES)))
    sizes = np.array([len(files[number % 16]) for number in range(IMAGES)])
    offsets = np.cumsum(sizes) - sizes
    unused = np.zeros(IMAGES, bool)
    index = TarIndex(
        numbered_uids(IMAGES), [""] * IMAGES, offsets, sizes, unused, [[]] * IMAGES, drops=Counter()
    )
    return path, index


def in_turns(*ways: Callable[[], None]) -> list[list[Seconds]]:
    """Return the seconds of each way, run after one another several times."""
    seconds: list[list[Seconds]] = [[] for _ in ways]
    for _ in range(PAIRS):
        for way, of_way in zip(ways, seconds, strict=True):
            started = now()
            way()
            of_way.append(since(started))
    return seconds


def show(name: str, runs: list[Seconds]) -> float:
    """Print images per second, and processor milliseconds per image; return the median seconds."""
    clock = float(np.median([run.clock for run in runs]))
    processor = float(np.median([run.processor or 0.0 for run in runs]))
    print(f"{name}: {IMAGES / clock:.0f} images/s, {1000 * processor / IMAGES:.2f} processor ms an image")
    return clock


def decode_alone(tar: tuple[Path, TarIndex], preprocess: Preprocessing, share: slice = slice(None)) -> None:
    """Read, decode and preprocess, keeping nothing."""
    path, index = tar
    for offset, size in list(zip(index.offsets.tolist(), index.sizes.tolist(), strict=True))[share]:
        preprocess(TarImage(path, offset, size).load())


def decode_on_all_cores(tar: tuple[Path, TarIndex], preprocess: Preprocessing) -> None:
    """Do so in a forked process per core, which share nothing and return nothing."""
    children = []
    for core in range(CORES):
        child = os.fork()
        if not child:
            decode_alone(tar, preprocess, slice(core, None, CORES))
            os._exit(0)
        children.append(child)
    for child in children:
        os.waitpid(child, 0)


def test_a_model_of_one_millisecond_waits_for_decoding_on_all_cores(tar: tuple[Path, TarIndex]) -> None:
    preprocess = load_clip(f"local-dir:{demo_model('clip')}", None, CPU).preprocess
    path, index = tar
    torch.set_num_threads(1)
    workers = PixelWorkers(preprocess, CORES, CPU)

    def series() -> None:
        for batch in read_images(path, index, BATCH, Counter()):
            torch.stack([preprocess(image) for image in batch.images])
            time.sleep(0.001)

    def pipeline() -> None:
        for _ in read_pixels(path, index, BATCH, Counter(), workers):
            time.sleep(0.001)

    pipeline()  # the processes start
    ways = in_turns(
        series, pipeline, lambda: decode_alone(tar, preprocess), lambda: decode_on_all_cores(tar, preprocess)
    )
    names = ("in series", f"pipeline of {CORES}", "decoding on one core", f"decoding on {CORES} cores")
    _, piped, one, every = (show(name, runs) for name, runs in zip(names, ways, strict=True))
    print(f"pipeline: {one / piped:.2f} times one core, {every / piped:.2f} of {CORES} cores without a model")
    assert every / piped > 0.9


def test_a_model_on_the_cpu_is_not_slower_than_in_series(tar: tuple[Path, TarIndex]) -> None:
    torch.set_num_threads(CORES)
    clip: ClipModel = load_clip(f"local-dir:{demo_model('clip')}", None, CPU)
    path, index = tar
    workers = PixelWorkers(clip.preprocess, CORES, CPU)
    found: dict[str, list[np.ndarray]] = {}

    def series() -> None:
        found["series"] = [clip.embed_batch(b) for b in read_images(path, index, BATCH, Counter())]

    def pipeline() -> None:
        batches = read_pixels(path, index, BATCH, Counter(), workers)
        found["pipeline"] = [clip.embed_batch(batch) for batch in batches]

    pipeline()
    ways = in_turns(series, pipeline)
    plain, piped = (show(name, runs) for name, runs in zip(("in series", "pipeline"), ways, strict=True))
    print(f"pipeline with CLIP on the CPU: {plain / piped:.2f} times in series")
    assert np.array_equal(np.concatenate(found["series"]), np.concatenate(found["pipeline"]))
    assert plain / piped > 0.95


def test_processes_decode_more_than_threads(tar: tuple[Path, TarIndex]) -> None:
    """Why they are processes: small images, and preprocessing in numpy, hold Python's lock."""
    from concurrent.futures import ThreadPoolExecutor

    preprocess = load_clip(f"local-dir:{demo_model('clip')}", None, CPU).preprocess
    torch.set_num_threads(1)

    def threads() -> None:
        with ThreadPoolExecutor(CORES) as pool:
            shares = [slice(core, None, CORES) for core in range(CORES)]
            list(pool.map(lambda share: decode_alone(tar, preprocess, share), shares))

    ways = in_turns(
        lambda: decode_alone(tar, preprocess), threads, lambda: decode_on_all_cores(tar, preprocess)
    )
    names = ("one thread", f"{CORES} threads", f"{CORES} processes")
    one, threaded, forked = (show(name, runs) for name, runs in zip(names, ways, strict=True))
    print(f"{CORES} threads: {one / threaded:.2f} times one, {CORES} processes: {one / forked:.2f}")
    assert threaded > 0.9 * forked
