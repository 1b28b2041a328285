"""Images read, decoded and preprocessed in processes of their own, while the caller works on earlier ones.

Processes and not threads, as preprocessing holds Python's lock: two threads do 1.5 times the work of one and two
processes 1.8 times (`make perf`); where images are small and the preprocessing is in numpy, threads gain nothing.
"""

from __future__ import annotations

import multiprocessing
import os
import threading
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
from benchmark.core.launch import ctrl_c_left_to_parent, end_with_parent
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
        where there are many images; where there are few, batches hold images, which the reader preprocesses itself.
        """


class Loadable(Protocol):
    """The picklable location of an image."""

    def load(self) -> Image.Image:
        """Return the image. Raises `SampleError` if it cannot be used."""


@dataclass(frozen=True)
class Block:
    """The pixels of a chunk's m readable images, (m, c, h, w), and for each image the reason why it is not, or None.

    `pixels` lie where the next images will be written: they are valid until the next block is asked for.
    `processor_seconds` are what the processes used for it, `peak_rss_bytes` what they have held at most so far.
    """

    pixels: Pixels
    reasons: list[str | None]
    processor_seconds: float
    peak_rss_bytes: int


@dataclass(frozen=True)
class PixelBatch:
    """The pixels and reasons of a batch, as a tensor on the model's device."""

    pixels: torch.Tensor
    reasons: list[str | None]


@dataclass(frozen=True)
class _MadeBatch:
    """A batch that the caller has not asked for yet; the other fields are those of its blocks."""

    pixels: Copied
    reasons: list[str | None]
    processor_seconds: float
    peak_rss_bytes: int


@dataclass(frozen=True)
class Filled:
    """What a worker process returns: reasons as in `Block`, its processor seconds since the last time, its memory."""

    reasons: list[str | None]
    processor_seconds: float
    process: int
    peak_rss_bytes: int


class PixelWorkers:
    """Processes that turn images into pixels of one shape. They end with the object, or with this process.

    Args:
        preprocess: picklable; returns float32 of the same shape (c, h, w) for every image.
        processes: number of processes, which start with the first images.
        device: where the pixels go; to a GPU they are copied from pinned memory, beside the model's work.
    """

    def __init__(self, preprocess: Preprocessing, processes: int, device: torch.device) -> None:
        import torch

        sample = preprocess(Image.new("RGB", (64, 64)))
        assert sample.dtype == torch.float32, sample.dtype
        self.shape = tuple(sample.shape)
        self._pinned = device.type == "cuda"
        self._copies = Copies(device)
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
        for made in made_ahead(self._make(batches)):
            record_helpers(made.processor_seconds, made.peak_rss_bytes)
            yield PixelBatch(made.pixels.get(), made.reasons)

    def _make(self, batches: Sequence[Sequence[Loadable]]) -> Generator[_MadeBatch, None, None]:
        import torch

        chunks = (batch[start : start + CHUNK] for batch in batches for start in range(0, len(batch), CHUNK))
        with closing(self.blocks(chunks)) as blocks:
            for batch in batches:
                pixels = torch.empty((len(batch), *self.shape), pin_memory=self._pinned)
                reasons: list[str | None] = []
                seconds, peak = 0.0, 0
                for block in islice(blocks, -(-len(batch) // CHUNK)):
                    readable = reasons.count(None)
                    pixels[readable : readable + len(block.pixels)] = torch.from_numpy(block.pixels)
                    reasons += block.reasons
                    seconds, peak = seconds + block.processor_seconds, block.peak_rss_bytes
                yield _MadeBatch(self._copies.begin(pixels[: reasons.count(None)]), reasons, seconds, peak)

    def _start_processes(self) -> ProcessPoolExecutor:
        preprocess, processes = self._preprocess, self._processes
        context = multiprocessing.get_context("forkserver")
        with ctrl_c_left_to_parent():
            forkserver.ensure_running()
        memory = context.RawArray("f", self._slots * self._slot)
        self._memory = np.frombuffer(memory, np.float32).reshape(self._slots, self._slot)
        pool = ProcessPoolExecutor(
            processes, context, _start_worker, (preprocess, memory, self._slot, self.shape)
        )
        # At exit before multiprocessing closes the pool's queues (priority 10) and waits for its processes.
        Finalize(self, _shut_down, (pool,), exitpriority=100)
        return pool

    def blocks(self, chunks: Iterable[Sequence[Loadable]]) -> Generator[Block, None, None]:
        """Yield a block per chunk of at most `CHUNK` images, in order; `_slots` bound those that wait.

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
        readable = filled.reasons.count(None)
        pixels = self._memory[slot][: readable * (self._slot // CHUNK)]
        peak = sum(self._peaks.values())
        yield Block(pixels.reshape(readable, *self.shape), filled.reasons, filled.processor_seconds, peak)
        free.append(slot)


def _shut_down(pool: ProcessPoolExecutor) -> None:
    pool.shutdown(cancel_futures=True)


def _start_worker(preprocess: Preprocessing, memory: Any, slot: int, shape: tuple[int, ...]) -> None:
    import torch

    global _fill  # a process pool gives its workers no other place for state
    threading.Thread(target=end_with_parent, daemon=True).start()
    torch.set_num_threads(1)
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


@dataclass(frozen=True)
class Copied:
    """A tensor whose copy may still be under way on the GPU, until the event `done`."""

    tensor: torch.Tensor
    done: torch.cuda.Event | None = None

    def get(self) -> torch.Tensor:
        """Return the tensor for the caller's stream, whose later kernels wait for the copy."""
        if self.done is not None:
            import torch

            stream = torch.cuda.current_stream(self.tensor.device)
            stream.wait_event(self.done)
            self.tensor.record_stream(stream)  # its memory is not given away while this stream reads it
        return self.tensor


class Copies:
    """Copies tensors to a device, in a stream of its own on a GPU: kernels of other streams go on meanwhile."""

    def __init__(self, device: torch.device) -> None:
        import torch

        self._device = device
        self._stream = torch.cuda.Stream(device) if device.type == "cuda" else None

    def begin(self, tensor: torch.Tensor) -> Copied:
        """Begin to copy a tensor, from pinned memory without waiting for the end."""
        import torch

        if self._stream is None:
            return Copied(tensor.to(self._device))
        with torch.cuda.stream(self._stream):
            return Copied(tensor.to(self._device, non_blocking=True), self._stream.record_event())
