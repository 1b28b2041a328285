"""Images through a model: processes that read, decode and preprocess, against doing all of it in series.

Wall-clock seconds count here: run it on an idle machine.
"""

import os
import time
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cache, partial
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
import torch
from PIL import Image

from bench.measurement import compare, measure
from bench.photos import photos
from benchmark.core.pixel_workers import PixelWorkers, Preprocessing
from benchmark.models.clip_models import ClipModel, load_clip
from benchmark.pool.tar_index import TarIndex
from benchmark.pool.tar_reader import TarImage, read_images, read_pixels
from pairsift.demo.settings import demo_model
from tests.pools import numbered_uids

pytestmark = pytest.mark.perf
CPU = torch.device("cpu")
CORES = len(os.sched_getaffinity(0))
IMAGES, BATCH = 1024, 256
DEVICE_BATCHES, DEVICE_SECONDS = 20, 0.15  # 1,700 images a second, about what 16 cores decode
IMPORTS = ("open_clip",)


@pytest.fixture(scope="module")
def tar(tmp_path_factory: pytest.TempPathFactory) -> str:
    """A folder with a file of JPEGs of one size, and their positions."""
    files = photos(IMAGES)
    folder = tmp_path_factory.mktemp("images")
    (folder / "images.tar").write_bytes(b"".join(files))
    np.save(folder / "sizes.npy", np.array([len(file) for file in files]))
    return str(folder)


def opened(folder: str) -> tuple[Path, TarIndex]:
    sizes = np.load(Path(folder, "sizes.npy"))
    rows = pa.table({"text": [""] * IMAGES, "offset": np.cumsum(sizes) - sizes, "size": sizes})
    return Path(folder, "images.tar"), TarIndex(numbered_uids(IMAGES), rows)


def clip(threads: int) -> ClipModel:
    torch.set_num_threads(threads)
    return load_clip(f"local-dir:{demo_model('clip')}", None, CPU)


def short_model_in_series(folder: str) -> Iterator[None]:
    preprocess = clip(1).preprocess
    yield
    for batch in read_images(*opened(folder), BATCH, Counter()):
        torch.stack([preprocess(image) for image in batch.images])
        time.sleep(0.001)


def short_model_in_a_pipeline(folder: str) -> Iterator[None]:
    workers = started(clip(1).preprocess, folder)
    yield
    for _ in read_pixels(*opened(folder), BATCH, Counter(), workers):
        time.sleep(0.001)


def clip_in_series(folder: str) -> Iterator[None]:
    model = clip(CORES)
    yield
    for batch in read_images(*opened(folder), BATCH, Counter()):
        model.embed_images(batch.images)


def clip_in_a_pipeline(folder: str) -> Iterator[None]:
    model = clip(CORES)
    workers = started(model.preprocess, folder)
    yield
    for batch in read_pixels(*opened(folder), BATCH, Counter(), workers):
        model.embed_pixels(batch.pixels)


def started(preprocess: Preprocessing, folder: str) -> PixelWorkers:
    """Processes that have had their first images."""
    workers = PixelWorkers(preprocess, CORES, CPU)
    next(read_pixels(*opened(folder), BATCH, Counter(), workers))
    return workers


@dataclass(frozen=True)
class Blank:
    """An image that takes hardly any time."""

    def load(self) -> Image.Image:
        return Image.new("RGB", (8, 8))


@cache
def pixels() -> torch.Tensor:
    """Not made on import: after torch has used its threads, a fork would wait for them."""
    return torch.zeros(3, 224, 224)


def same_pixels(_: Image.Image) -> torch.Tensor:
    return pixels()


def device_in_a_pipeline() -> Iterator[None]:
    batches = PixelWorkers(same_pixels, CORES, CPU).batches([[Blank()] * BATCH] * (DEVICE_BATCHES + 1))
    next(batches)
    yield
    for _ in batches:
        time.sleep(DEVICE_SECONDS)


def device_alone() -> Iterator[None]:
    yield
    for _ in range(DEVICE_BATCHES):
        time.sleep(DEVICE_SECONDS)


def decode(folder: str, preprocess: Preprocessing, share: slice) -> None:
    """Read, decode and preprocess some of the images, keeping nothing."""
    path, index = opened(folder)
    for offset, size in list(zip(index.offsets.tolist(), index.sizes.tolist(), strict=True))[share]:
        preprocess(TarImage(path, offset, size).load())


def decode_on_all_cores(folder: str) -> Iterator[None]:
    """Do so in a forked process per core, which share nothing and return nothing."""
    preprocess = clip(1).preprocess
    yield
    children = []
    for core in range(CORES):
        child = os.fork()
        if not child:
            decode(folder, preprocess, slice(core, None, CORES))
            os._exit(0)
        children.append(child)
    for child in children:
        os.waitpid(child, 0)


def decode_in_threads(folder: str) -> Iterator[None]:
    """Do so in a thread per core."""
    from concurrent.futures import ThreadPoolExecutor

    preprocess = clip(1).preprocess
    yield
    with ThreadPoolExecutor(CORES) as pool:
        shares = [slice(core, None, CORES) for core in range(CORES)]
        list(pool.map(lambda share: decode(folder, preprocess, share), shares))


def clock_ratio(
    work: str, ours: Callable[..., object], name: str, other: Callable[..., object], *tar: str
) -> float:
    """Return the wall-clock seconds, ours divided by the other's."""
    row = compare(work, partial(measure, ours, *tar), name, partial(measure, other, *tar))
    return row.ours.seconds / row.of_reference.seconds


def test_a_model_of_one_millisecond_waits_for_decoding_on_all_cores(tar: str) -> None:
    work = f"{IMAGES:,} images through a model of 1 ms a batch, pipeline of {CORES}"
    clock_ratio(work, short_model_in_a_pipeline, "in series", short_model_in_series, tar)
    work = f"{work}, beside decoding alone"
    name = f"decoding in {CORES} processes"
    assert clock_ratio(work, short_model_in_a_pipeline, name, decode_on_all_cores, tar) < 1 / 0.9


def test_a_model_on_the_cpu_is_not_slower_than_in_series(tar: str) -> None:
    work = f"{IMAGES:,} images through the demo's CLIP, pipeline of {CORES}"
    assert clock_ratio(work, clip_in_a_pipeline, "in series", clip_in_series, tar) < 1 / 0.95


def test_a_device_is_busy_where_decoding_keeps_up() -> None:
    """The device is a clock: it waits for this process to put a batch together."""
    work = f"{DEVICE_BATCHES} batches of {BATCH} images, decoded at once, through a device of 150 ms a batch"
    assert clock_ratio(work, device_in_a_pipeline, "the device alone", device_alone) < 1 / 0.9


def test_the_pipeline_gives_the_pixels_of_the_series(tar: str) -> None:
    model = clip(CORES)
    workers = PixelWorkers(model.preprocess, CORES, CPU)
    series = next(read_images(*opened(tar), BATCH, Counter()))
    pipeline = next(read_pixels(*opened(tar), BATCH, Counter(), workers))
    assert np.array_equal(model.embed_images(series.images), model.embed_pixels(pipeline.pixels))


def test_processes_decode_more_than_threads(tar: str) -> None:
    """The reason for processes: small images, and preprocessing in numpy, hold Python's lock."""
    work = f"decode and preprocess {IMAGES:,} images in {CORES} processes"
    assert clock_ratio(work, decode_on_all_cores, f"{CORES} threads", decode_in_threads, tar) < 1 / 0.9
