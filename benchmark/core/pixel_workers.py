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
from itertools import islice
from multiprocessing import forkserver
from multiprocessing.util import Finalize
from typing import TYPE_CHECKING, Any, Protocol, runtime_checkable

import numpy as np
import numpy.typing as npt
from PIL import Image

from benchmark.core.batch import SampleError
from benchmark.core.errors import UserError
from benchmark.core.launch import ctrl_c_left_to_parent, end_with_parent, take_cores
from benchmark.core.prefetch import made_ahead
from benchmark.core.usage import peak_rss_bytes, record_helpers

if TYPE_CHECKING:
    import torch

# Fewer images in all are read in series, as starting processes takes as long as a thousand images do.
MANY_IMAGES = 2000
CHUNK = 8  # images that one process works on at a time
QUEUE_BYTES = 256 << 20  # of pixels that wait for the caller
Preprocessing = Callable[[Image.Image], "torch.Tensor"]
Pixels = npt.NDArray[np.float32]
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


def start_fork_server() -> None:
    """Start the process that decoding processes are forked from, while this one goes on, for example loads a model.

    It imports their libraries once, so that each starts within milliseconds.
    """
    forkserver.set_forkserver_preload(["__main__", "benchmark.core.decoding_imports"])
    with ctrl_c_left_to_parent():
        forkserver.ensure_running()


class PixelWorkers:
    """Processes that turn images into pixels of one shape. They end with the object, or with this process.

    Args:
        preprocess: picklable; returns float32 of the same shape (c, h, w) for every image.
        processes: number of processes, which start with the first images.
        device: device of the pixels; a GPU gets them from pinned memory while the model works.
    """

    def __init__(self, preprocess: Preprocessing, processes: int, device: torch.device) -> None:
        self._sample = sample = preprocess(Image.new("RGB", (64, 64)))
        assert str(sample.dtype) == "torch.float32", sample.dtype
        self.shape = tuple(sample.shape)
        self._device = device
        self._slot = CHUNK * sample.numel()
        # Two for each process, even where these are more than `QUEUE_BYTES` (10 MB each at 336 pixels): with fewer, a
        # process would wait until the caller has taken what it filled.
        self._slots = max(2 * processes, QUEUE_BYTES // (4 * self._slot))
        self._preprocess = preprocess
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
                shape = (len(batch), *self.shape)
                pixels = self._sample.new_empty(shape, pin_memory=self._device.type == "cuda")
                reasons: list[str | None] = []
                for block, of_block in islice(blocks, -(-len(batch) // CHUNK)):
                    readable = reasons.count(None)
                    pixels.numpy()[readable : readable + len(block)] = block
                    reasons += of_block
                yield PixelBatch(pixels[: reasons.count(None)].to(self._device, non_blocking=True), reasons)

    def _start_processes(self) -> ProcessPoolExecutor:
        preprocess, processes = self._preprocess, self._processes
        context = multiprocessing.get_context("forkserver")
        start_fork_server()
        memory = context.RawArray("f", self._slots * self._slot)
        self._memory = np.frombuffer(memory, np.float32).reshape(self._slots, self._slot)
        pool = ProcessPoolExecutor(
            processes, context, _start_worker, (preprocess, memory, self._slot, self.shape)
        )
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


def _start_worker(preprocess: Preprocessing, memory: Any, slot: int, shape: tuple[int, ...]) -> None:
    global _fill  # a process pool gives its workers no other place for state
    end_with_parent()
    take_cores(1)
    slots = np.frombuffer(memory, np.float32).reshape(-1, slot)
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
