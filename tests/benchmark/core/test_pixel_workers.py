"""Processes that make pixels of images: order, reasons, bounded memory, errors, and their end."""

import multiprocessing
import os
import pickle
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator
from concurrent.futures import BrokenExecutor
from contextlib import closing
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

import numpy as np
import pytest
import torch
from open_clip import image_transform
from PIL import Image
from timm.data import IMAGENET_DEFAULT_MEAN, IMAGENET_DEFAULT_STD, create_transform, resolve_data_config
from transformers import CLIPImageProcessor, TimmWrapperImageProcessor, ViTImageProcessor

from benchmark.core import pixel_workers
from benchmark.core.batch import IMAGE_UNREADABLE, SampleError
from benchmark.core.errors import UserError
from benchmark.core.pixel_workers import (
    CHUNK,
    PixelWorkers,
    Preprocessing,
    find_levels,
    from_levels,
    to_device,
    to_levels,
)
from benchmark.core.usage import helpers_peak_rss_bytes, processor_seconds
from benchmark.engine.local import LocalEngine
from benchmark.pool import pool as pool_module
from benchmark.pool.pool import Pool
from downstream.batching import to_pixels as to_hub_pixels
from tests.pools import rows, write_pool

CPU = torch.device("cpu")


@dataclass(frozen=True)
class Grey:
    """An image of one level; unreadable, with a bug or deadly on demand."""

    level: int

    def load(self) -> Image.Image:
        """Return the image."""
        if self.level == 13:
            raise SampleError(IMAGE_UNREADABLE)
        if self.level == 255:
            raise ZeroDivisionError("a bug")
        if self.level == 254:
            os.kill(os.getpid(), signal.SIGKILL)
        return Image.new("RGB", (5, 4), (self.level,) * 3)


def to_pixels(image: Image.Image) -> torch.Tensor:
    """Return the pixels of the first row and column; slow for images of level 1."""
    pixels = torch.from_numpy(np.asarray(image).copy()).permute(2, 0, 1)[:, :1, :1] / 255
    end = time.process_time() + 0.02 * (image.getpixel((0, 0)) == (1, 1, 1))
    while time.process_time() < end:
        pass
    return pixels


@pytest.fixture(scope="module")
def workers() -> Iterator[PixelWorkers]:
    """Two processes, started once for the module."""
    made = PixelWorkers(to_pixels, 2, CPU)
    yield made
    assert made._pool is not None
    made._pool.shutdown()


def chunks(levels: list[int]) -> Iterator[list[Grey]]:
    for start in range(0, len(levels), CHUNK):
        yield [Grey(level) for level in levels[start : start + CHUNK]]


@pytest.mark.slow
def test_blocks_keep_the_order_and_name_reasons(workers: PixelWorkers) -> None:
    levels = [1, 13, *range(2, 60), *range(2, 60)]
    seen: list[float] = []
    reasons: list[str | None] = []
    for pixels, of_block in workers.blocks(chunks(levels)):
        assert pixels.shape[1:] == (3, 1, 1)
        seen += [float(value) for value in pixels[:, 0, 0, 0]]
        reasons += of_block
    assert seen == pytest.approx([level / 255 for level in levels if level != 13])
    assert reasons == [IMAGE_UNREADABLE if level == 13 else None for level in levels]


@pytest.mark.slow
def test_what_processes_use_is_counted(workers: PixelWorkers) -> None:
    before = processor_seconds()
    assert [len(batch.pixels) for batch in workers.batches([[Grey(1)] * 20, [Grey(1)] * 30])] == [20, 30]
    assert processor_seconds() - before > 0.9  # each image takes .02 s
    assert helpers_peak_rss_bytes() > 50_000_000


@pytest.mark.slow
def test_images_are_asked_for_as_memory_becomes_free(
    workers: PixelWorkers, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(workers, "_slots", 3)
    asked: list[int] = []

    def counted() -> Iterator[list[Grey]]:
        for number, chunk in enumerate(chunks([2] * CHUNK * 10)):
            asked.append(number)
            yield chunk

    with closing(workers.blocks(counted())) as blocks:
        next(blocks)
        assert len(asked) <= 4  # three wait or are worked on; the next finds no place
    assert (
        sum(len(pixels) for pixels, _ in workers.blocks(chunks([2] * 20))) == 20
    )  # all places are free again


@pytest.mark.slow
def test_an_error_reaches_the_caller_and_the_processes_go_on(workers: PixelWorkers) -> None:
    with pytest.raises(ZeroDivisionError, match="a bug"):
        list(workers.blocks(chunks([*range(2, 10), 255, *range(2, 100)])))
    assert len(list(workers.blocks(chunks([5])))) == 1


@pytest.mark.slow
def test_processes_end_with_their_owner() -> None:
    before = set(multiprocessing.active_children())
    made = PixelWorkers(to_pixels, 1, CPU)
    assert len(list(made.blocks(chunks([5])))) == 1
    (started,) = set(multiprocessing.active_children()) - before
    del made
    started.join(timeout=30)
    assert not started.is_alive()


def preprocessings() -> dict[str, Preprocessing]:
    config = resolve_data_config({"input_size": (3, 48, 48), "crop_pct": 0.9, "interpolation": "bicubic"})
    cropped = {"size": {"shortest_edge": 40}, "do_center_crop": True, "crop_size": 32}
    hub = {
        "vit": ViTImageProcessor(size={"height": 32, "width": 32}),
        "swin": ViTImageProcessor(
            size={"height": 32, "width": 32}, image_mean=IMAGENET_DEFAULT_MEAN, image_std=IMAGENET_DEFAULT_STD
        ),
        "clip": CLIPImageProcessor(**cropped),
        "timm": TimmWrapperImageProcessor({"input_size": (3, 32, 32)}, "resnet18"),
    }
    return {"open_clip": image_transform(40, is_train=False), "timm_features": create_transform(**config)} | {
        name: partial(first, partial(to_hub_pixels, processor)) for name, processor in hub.items()
    }


def first(preprocess: Callable[[list[Image.Image]], torch.Tensor], image: Image.Image) -> torch.Tensor:
    return preprocess([image])[0]


@pytest.mark.parametrize("name", ["open_clip", "timm_features", "vit", "swin", "clip", "timm"])
def test_levels_give_the_bits_of_the_preprocessing(name: str) -> None:
    preprocess = preprocessings()[name]
    levels = find_levels(preprocess)
    assert levels is not None
    random = np.random.default_rng(1)
    for height, width in ((33, 47), (200, 101), (31, 640)):
        image = Image.fromarray(random.integers(0, 256, (height, width, 3), np.uint8))
        pixels = preprocess(image)
        made = from_levels(to_levels(pixels, levels)[None], levels)
        assert made.dtype == torch.float32
        assert torch.equal(made[0].view(torch.int32), pixels.view(torch.int32))


def test_levels_of_photos_are_the_bits_that_torchvision_and_transformers_compute(shared_data: Path) -> None:
    photos = [Image.open(path).convert("RGB") for path in sorted(shared_data.glob("coco_mini/*/*.jpg"))[::12]]
    assert len(photos) > 15
    for preprocess in preprocessings().values():
        pixels = torch.stack([preprocess(photo) for photo in photos])
        levels = find_levels(preprocess)
        made = to_device(to_levels(pixels, levels), CPU, levels)
        assert torch.equal(made.view(torch.int32), pixels.view(torch.int32))


def test_other_last_steps_have_no_levels() -> None:
    assert find_levels(standardised) is None  # by the image's own mean
    assert find_levels(lambda image: to_pixels(image).flatten()) is None


def standardised(image: Image.Image) -> torch.Tensor:
    pixels = image_transform(16, is_train=False)(image)
    return pixels - pixels.mean() / 2


@pytest.mark.slow
def test_a_gpu_gets_levels_from_the_processes() -> None:
    made = PixelWorkers(to_pixels, 1, torch.device("cuda"))
    ((block, reasons),) = made.blocks(chunks([5, 13, 200]))
    assert block.dtype == np.uint8
    assert block[:, 0, 0, 0].tolist() == [5, 200]
    assert reasons == [None, IMAGE_UNREADABLE, None]


SERVER = """
import os, sys
from pathlib import Path
from benchmark.core import decoding_imports
assert "Threads:\\t1\\n" in Path("/proc/self/status").read_text()
import torch
assert torch.get_num_threads() == 1
assert {"open_clip", "torchvision.transforms.v2", "timm.data"} <= sys.modules.keys()
assert {"transformers.models.vit.image_processing_vit", "PIL.Image"} <= sys.modules.keys()
assert not torch.cuda.is_initialized()
child = os.fork()
if not child:
    os._exit(torch.cuda._is_in_bad_fork())
assert os.waitpid(child, 0)[1] == 0
"""


@pytest.mark.slow
def test_the_fork_server_has_neither_threads_nor_a_gpu() -> None:
    subprocess.run([sys.executable, "-c", SERVER], check=True)


@pytest.mark.parametrize(("processes", "waiting"), [(1, 10), (16, 32)])
def test_pixels_that_wait_are_bounded(processes: int, waiting: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pixel_workers, "QUEUE_BYTES", 10 * CHUNK * 3 * 4)
    assert PixelWorkers(to_pixels, processes, CPU)._slots == waiting  # each process has pixels to fill


def test_processes_start_once_shards_have_many_images_together(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pool = Pool("p", str(write_pool(tmp_path / "pool", [rows(1, start=n) for n in range(4)])))
    needs = frozenset({"image"})
    monkeypatch.setattr(pixel_workers, "MANY_IMAGES", 3)
    started: list[str] = []
    monkeypatch.setattr(pool_module, "read_pixels", lambda path, *_: started.append(path.stem) or iter(()))
    made = PixelWorkers(to_pixels, 1, CPU)
    for shard in pool.shards(needs):
        list(pool.batches(shard, needs, 11, Counter(), made))
    assert started == ["00000002", "00000003"]


@pytest.mark.slow
def test_pools_give_the_same_samples_as_pixels(
    workers: PixelWorkers, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = rows(30)
    made[4], made[17] = (replace(made[row], image=b"not a picture") for row in (4, 17))
    made[9] = replace(made[9], image=made[9].image[: len(made[9].image) // 2])
    pool = Pool("p", str(write_pool(tmp_path / "pool", [made])))
    needs = frozenset({"image", "text"})
    (shard,) = pool.shards(needs)
    drops, pixel_drops = Counter[str](), Counter[str]()
    expected = list(pool.batches(shard, needs, 11, drops, workers))  # too few for processes
    monkeypatch.setattr(pixel_workers, "MANY_IMAGES", 30)
    found = list(pool.batches(shard, needs, 11, pixel_drops, workers))
    assert drops == pixel_drops == {IMAGE_UNREADABLE: 3}
    assert [len(batch) for batch in found] == [len(batch) for batch in expected] == [9, 10, 8]
    for batch, plain in zip(found, expected, strict=True):
        assert (batch.uids == plain.uids).all()
        assert batch.texts == plain.texts
        assert not batch.images
        assert plain.pixels is None
        assert torch.equal(batch.pixels, torch.stack([to_pixels(image) for image in plain.images]))
        assert torch.equal(batch.take([2, 0]).pixels, batch.pixels[[2, 0]])


class InEngineWorker:
    """Work that makes pixels in processes of its own."""

    light = False

    def setup(self, device: str) -> None:
        """Prepare the processes, which start with the first image."""
        self._workers = PixelWorkers(to_pixels, 1, torch.device(device))

    def __call__(self, level: int) -> int:
        """Return the number of images."""
        return sum(len(pixels) for pixels, _ in self._workers.blocks(chunks([level] * 10)))


@pytest.mark.full  # each of the engine's workers has a fork server, which imports what decoding takes
def test_workers_of_an_engine_have_decoding_processes() -> None:
    assert list(LocalEngine("cpu", 2).run(InEngineWorker(), [4, 5])) == [10, 10]


@pytest.mark.slow
def test_a_killed_process_ends_the_work_with_one_line() -> None:
    with pytest.raises(UserError, match=r"^a process that decodes images was killed; .*fewer cores") as ended:
        list(LocalEngine("cpu", 1).run(InEngineWorker(), [4, 254]))
    assert isinstance(
        pickle.loads(pickle.dumps(ended.value)), BrokenExecutor
    )  # as an engine's worker sends it
