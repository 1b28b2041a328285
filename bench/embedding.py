"""Images of a tar embedded by a CLIP model with random weights, and how long the device is busy with the model."""

import json
import time
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import torch

from benchmark.core.batch import Batch
from benchmark.core.pixel_workers import PixelWorkers
from benchmark.models.clip_models import ClipModel, load_clip
from benchmark.pool.tar_index import index_tar
from benchmark.pool.tar_reader import read_images, read_pixels

IMPORTS = ("open_clip",)
BATCH = 256
TAGS = {"ViT-B-32": "laion2b_s34b_b79k", "ViT-L-14": "laion2b_s32b_b82k"}  # only for their preprocessing


class Passes:
    """The time of a module's forward passes: by the clock on a CPU, by events on a GPU.

    A GPU's seconds last from the moment when it could begin a pass until the end of the pass.
    """

    def __init__(self, module: torch.nn.Module, device: torch.device) -> None:
        self._on_gpu = device.type == "cuda"
        self._times: list[Any] = []  # beginning and end of each pass
        module.register_forward_pre_hook(lambda *_: self._times.append(self._now()))
        module.register_forward_hook(lambda *_: self._times.append(self._now()))

    def _now(self) -> Any:
        if not self._on_gpu:
            return time.monotonic()
        event = torch.cuda.Event(enable_timing=True)
        event.record()
        return event

    def seconds(self) -> float:
        """Return the seconds of the passes since the last call."""
        pairs = list(zip(self._times[::2], self._times[1::2], strict=True))
        self._times.clear()
        if not self._on_gpu:
            return float(sum(end - begin for begin, end in pairs))
        torch.cuda.synchronize()
        return sum(begin.elapsed_time(end) for begin, end in pairs) / 1000


def in_a_pipeline(tar: str, model: str, device: str, busy: str, processes: int) -> Iterator[None]:
    """Embed images that other processes decode and preprocess; write the share of busy seconds to `busy`."""
    clip = loaded(model, torch.device(device))
    workers = PixelWorkers(clip.preprocess, processes, clip.device)
    path, index = Path(tar), index_tar(Path(tar), {})
    yield from embedded(clip, lambda: read_pixels(path, index, BATCH, Counter(), workers), busy)


def in_series(tar: str, model: str, device: str, busy: str) -> Iterator[None]:
    """Embed images that this process decodes and preprocesses itself."""
    clip = loaded(model, torch.device(device))
    path, index = Path(tar), index_tar(Path(tar), {})
    yield from embedded(clip, lambda: read_images(path, index, BATCH, Counter()), busy)


def embedded(clip: ClipModel, read: Callable[[], Iterator[Batch]], busy: str) -> Iterator[None]:
    """Embed all batches after one: by then processes have started, and the GPU has chosen its kernels."""
    passes = Passes(clip.model.visual, clip.device)
    embed(clip, next(read()))
    passes.seconds()
    yield
    began = time.monotonic()
    for batch in read():
        embed(clip, batch)
    seconds = passes.seconds()
    Path(busy).write_text(json.dumps(seconds / (time.monotonic() - began)))


def embed(clip: ClipModel, batch: Batch) -> None:
    """Embed the images of a batch, or their pixels."""
    clip.embed_images(batch.images) if batch.pixels is None else clip.embed_pixels(batch.pixels)


def loaded(model: str, device: torch.device) -> ClipModel:
    """Return a model of open_clip with random weights, in bf16 on a GPU; or a folder's model, in fp32."""
    if device.type == "cpu":
        return load_clip(model, None, device)
    return load_clip(model, TAGS[model], device, "bf16", load_weights=False)
