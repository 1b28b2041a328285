"""Images read, decoded and preprocessed in separate processes, while the caller works on earlier ones.

Processes and not threads, as preprocessing holds Python's lock: two threads do 1.5 times the work of one and two
processes 1.8 times (`make perf`); where images are small and the preprocessing is in numpy, threads gain nothing.
"""

from __future__ import annotations

import multiprocessing
import os
import time
from collections import deque
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from concurrent.futures import BrokenExecutor, Future, ProcessPoolExecutor, wait
from contextlib import closing
from dataclasses import dataclass
from functools import cache, partial
from itertools import islice
from multiprocessing import forkserver
from multiprocessing.util import Finalize
from typing import TYPE_CHECKING, Any, Protocol, runtime_checkable

import numpy as np
import numpy.typing as npt
from PIL import Image

from benchmark.core.batch import SampleError
from benchmark.core.errors import UserError
from benchmark.core.launch import ctrl_c_left_to_parent, end_with_parent, own_cores, take_cores
from benchmark.core.prefetch import made_ahead
from benchmark.core.usage import peak_rss_bytes, record_helpers

if TYPE_CHECKING:
    import torch

# Fewer images in all are read in series, as starting processes takes as long as a thousand images do.
MANY_IMAGES = 2000
CHUNK = 8  # images that one process works on at a time
QUEUE_BYTES = 256 << 20  # of pixels that wait for the caller
Preprocessing = Callable[[Image.Image], "torch.Tensor"]
Pixels = npt.NDArray[Any]  # float32, or uint8 levels, see `find_levels`
Block = tuple[Pixels, list[str | None]]
Waiting = deque[tuple[Future["Filled"], int]]
_fill: Callable[..., Any]  # in a worker process: what it does with a chunk


class DecoderDiedError(UserError, BrokenExecutor):
    """A process that decodes images was killed. An engine of several workers tries the piece again in a new one."""


@runtime_checkable
class Preprocesses(Protocol):
    """A filter or feature that reads the pixels of images as its model wants them, `Batch.pixels`."""

    def preprocessing(self) -> Preprocessing:
        """Return the model's own preprocessing of an image, once the model is loaded.

        It is picklable and returns float32 of the same shape (c, h, w) for every image. It runs in other processes
        if there are many images. Of few, batches hold images, which the reader preprocesses itself.
        """


class Loadable(Protocol):
    """The picklable location of an image."""

    def load(self) -> Image.Image:
        """Return the image. Raises `SampleError` if it cannot be used."""


@dataclass(frozen=True)
class PixelBatch:
    """Pixels (m, c, h, w) of a batch's readable images on the model's device; for each image its reason, or None."""

    pixels: torch.Tensor
    reasons: list[str | None]


@dataclass(frozen=True)
class Filled:
    """Result of a worker process: reasons as in `PixelBatch`, processor seconds since the last one, peak memory."""

    reasons: list[str | None]
    processor_seconds: float
    process: int
    peak_rss_bytes: int


def expect_images(images: int) -> None:
    """Prepare for so many images; call it before the model is loaded, as the libraries are imported meanwhile."""
    if images >= MANY_IMAGES and own_cores() > 1:
        _start_fork_server()


def _start_fork_server() -> None:
    """Start the process that decoding processes are forked from. It imports their libraries once."""
    forkserver.set_forkserver_preload(["__main__", "benchmark.core.decoding_imports"])
    with ctrl_c_left_to_parent():
        forkserver.ensure_running()


def find_levels(preprocess: Preprocessing) -> torch.Tensor | None:
    """Return the float32 that a preprocessing makes of each of 256 levels, (c, 256), or None.

    It scales 8-bit levels, which are a quarter of the bytes, as its last step. None if it does something else.
    """
    import torch

    greys = [preprocess(Image.new("RGB", (8, 8), (level,) * 3)) for level in range(256)]
    if greys[0].ndim != 3:
        return None
    levels = torch.stack([grey[:, 0, 0] for grey in greys], 1)
    random = np.random.default_rng(0)
    for height, width in ((61, 47), (341, 513)):
        noise = preprocess(Image.fromarray(random.integers(0, 256, (height, width, 3), np.uint8)))
        if not torch.equal(from_levels(to_levels(noise, levels), levels), noise):
            return None
    return levels


def to_levels(pixels: torch.Tensor, levels: torch.Tensor | None) -> torch.Tensor:
    """Return the level of each pixel (..., c, h, w), uint8, see `find_levels`; the pixels if there are no levels."""
    import torch

    if levels is None:
        return pixels
    low, high = levels[:, 0, None, None], levels[:, 255, None, None]
    scale = 255 / (high - low)
    return torch.addcmul(0.5 - low * scale, pixels, scale).to(torch.uint8)


def from_levels(pixels: torch.Tensor, levels: torch.Tensor) -> torch.Tensor:
    """Return the float32 of levels (..., c, h, w), bit for bit as the preprocessing made it."""
    import torch

    channels = torch.arange(len(levels), dtype=torch.int32, device=pixels.device)[:, None, None]
    index = (pixels + 256 * channels).flatten()
    return levels.to(pixels.device).flatten().index_select(0, index).view(pixels.shape)


@cache
def _copy_stream(device: torch.device) -> torch.cuda.Stream:
    import torch

    return torch.cuda.Stream(device)


def to_device(tensor: torch.Tensor, device: torch.device, levels: torch.Tensor | None = None) -> torch.Tensor:
    """Return `tensor` on `device`, as float32 if it has `levels`, see `find_levels`.

    A GPU copies on its own stream: neither the copy nor this process waits for other work.
    """
    import torch

    if tensor.device.type == device.type:
        moved = tensor.to(device)
        return moved if levels is None else from_levels(moved, levels)
    copies, current = _copy_stream(device), torch.cuda.current_stream(device)
    with torch.cuda.stream(copies):
        moved = tensor.pin_memory().to(device, non_blocking=True)
        if levels is not None:
            moved = from_levels(moved, levels.pin_memory().to(device, non_blocking=True))
    current.wait_stream(copies)
    moved.record_stream(current)  # its memory is used again only after the caller's work
    return moved


class PixelWorkers:
    """Processes that turn images into pixels of one shape. They end with the object, or with this process.

    Args:
        preprocess: picklable; returns float32 of the same shape (c, h, w) for every image.
        processes: number of processes, which start with the first images.
        device: device of the pixels; a GPU gets them from pinned memory while the model works.
    """

    def __init__(self, preprocess: Preprocessing, processes: int, device: torch.device) -> None:
        sample = preprocess(Image.new("RGB", (64, 64)))
        assert str(sample.dtype) == "torch.float32", sample.dtype
        self.shape = tuple(sample.shape)
        self._device = device
        # A CPU would gain nothing from fewer bytes.
        self._levels = find_levels(preprocess) if device.type == "cuda" else None
        self._slot = CHUNK * sample.numel()
        # Two for each process, even where these are more than `QUEUE_BYTES` (10 MB each at 336 pixels): with fewer, a
        # process would wait until the caller has taken what it filled.
        self._dtype = np.dtype(np.float32 if self._levels is None else np.uint8)
        self._slots = max(2 * processes, QUEUE_BYTES // (self._dtype.itemsize * self._slot))
        self._preprocess = (
            preprocess if self._levels is None else partial(_preprocess, preprocess, self._levels)
        )
        self._processes = processes
        self._pool: ProcessPoolExecutor | None = None
        self._peaks: dict[int, int] = {}  # bytes, by process
        self._offered = 0  # images

    def worth_starting(self, images: int) -> bool:
        """Return whether to read so many images in the processes: with all earlier ones they are `MANY_IMAGES`."""
        self._offered += images
        return self._offered >= MANY_IMAGES

    def batches(self, batches: Sequence[Sequence[Loadable]]) -> Iterator[PixelBatch]:
        """Yield the pixels of each batch, in order; the next one is put together while the caller works on one."""
        return made_ahead(self._make(batches))

    def _make(self, batches: Sequence[Sequence[Loadable]]) -> Generator[PixelBatch, None, None]:
        chunks = (batch[start : start + CHUNK] for batch in batches for start in range(0, len(batch), CHUNK))
        with closing(self.blocks(chunks)) as blocks:
            for batch in batches:
                pixels = self._empty(len(batch))
                reasons: list[str | None] = []
                for block, of_block in islice(blocks, -(-len(batch) // CHUNK)):
                    readable = reasons.count(None)
                    pixels.numpy()[readable : readable + len(block)] = block
                    reasons += of_block
                pixels = pixels[: reasons.count(None)]
                yield PixelBatch(to_device(pixels, self._device, self._levels), reasons)

    def _empty(self, images: int) -> torch.Tensor:
        import torch

        dtype = torch.float32 if self._levels is None else torch.uint8
        return torch.empty((images, *self.shape), dtype=dtype, pin_memory=self._device.type == "cuda")

    def _start_processes(self) -> ProcessPoolExecutor:
        context = multiprocessing.get_context("forkserver")
        _start_fork_server()
        memory = context.RawArray("B", self._slots * self._slot * self._dtype.itemsize)
        self._memory = np.frombuffer(memory, self._dtype).reshape(self._slots, self._slot)
        arguments = (self._preprocess, memory, self._dtype, self._slot, self.shape)
        pool = ProcessPoolExecutor(self._processes, context, _start_worker, arguments)
        # At exit before multiprocessing closes the pool's queues (priority 10) and waits for its processes.
        Finalize(self, pool.shutdown, kwargs={"cancel_futures": True}, exitpriority=100)
        return pool

    def blocks(self, chunks: Iterable[Sequence[Loadable]]) -> Generator[Block, None, None]:
        """Yield pixels and reasons, as in `PixelBatch`, of each chunk of at most `CHUNK` images, in order.

        The pixels are where later images will be written: they are valid until the next chunk is asked for.
        Raises `DecoderDiedError`, after which the processes are of no use any more.
        """
        self._pool = pool = self._pool or self._start_processes()
        free, waiting = deque(range(self._slots)), Waiting()
        try:
            for chunk in chunks:
                if not free:
                    yield from self._next(waiting, free)
                slot = free.popleft()
                waiting.append((pool.submit(_call, list(chunk), slot), slot))
            while waiting:
                yield from self._next(waiting, free)
        except BrokenExecutor:
            raise DecoderDiedError(
                "a process that decodes images was killed; if memory ran out, run the same command on fewer cores"
                " (taskset -c 0-7 COMMAND)"
            ) from None
        finally:
            # Until no process writes into the memory any more. Not cancelled: where Ctrl-C has ended the processes,
            # their pool sets an error for each, which a cancelled one refuses.
            wait([future for future, _ in waiting])

    def _next(self, waiting: Waiting, free: deque[int]) -> Iterator[Block]:
        future, slot = waiting[0]
        filled = future.result()
        waiting.popleft()
        self._peaks[filled.process] = filled.peak_rss_bytes
        record_helpers(filled.processor_seconds, sum(self._peaks.values()))
        readable = filled.reasons.count(None)
        pixels = self._memory[slot][: readable * (self._slot // CHUNK)]
        yield pixels.reshape(readable, *self.shape), filled.reasons
        free.append(slot)


def _preprocess(preprocess: Preprocessing, levels: torch.Tensor, image: Image.Image) -> torch.Tensor:
    return to_levels(preprocess(image), levels)


def _start_worker(
    preprocess: Preprocessing, memory: Any, dtype: np.dtype[Any], slot: int, shape: tuple[int, ...]
) -> None:
    global _fill  # a process pool gives its workers no other place for state
    end_with_parent()
    take_cores(1)
    slots = np.frombuffer(memory, dtype).reshape(-1, slot)
    reported = 0.0  # at first, starting is reported too

    def fill(chunk: Sequence[Loadable], number: int) -> Filled:
        nonlocal reported
        target = slots[number].reshape(CHUNK, *shape)
        reasons: list[str | None] = []
        for image in chunk:
            try:
                pixels = preprocess(image.load())
            except SampleError as error:
                reasons.append(error.reason)
                continue
            if tuple(pixels.shape) != shape:
                raise ValueError(f"pixels of shape {tuple(pixels.shape)} where others have {shape}")
            target[reasons.count(None)] = pixels
            reasons.append(None)
        seconds, reported = time.process_time() - reported, time.process_time()
        return Filled(reasons, seconds, os.getpid(), peak_rss_bytes())

    _fill = fill


def _call(chunk: Sequence[Loadable], number: int) -> Filled:
    filled: Filled = _fill(chunk, number)
    return filled
