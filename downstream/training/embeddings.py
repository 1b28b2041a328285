"""Embeddings of a locked image tower: it sees the same pixels every epoch, so each image is embedded once."""

import json
import shutil
from bisect import bisect_right
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import torch
from torch.utils.data import Dataset

from benchmark.core.batch import IMAGE_UNREADABLE, Sample, SampleError
from benchmark.core.mapped_files import new_mapped
from benchmark.core.paths import put_in_place, write_text
from benchmark.core.progress import progress
from benchmark.core.seals import intact
from downstream.training.training_data import IndexArray, Samples, loader, read_samples

Embed = Callable[[torch.Tensor], torch.Tensor]


@dataclass(frozen=True, eq=False)
class EmbeddedSample:
    """A pair with the embedding of its image, shape (d,), and the other captions of the image."""

    text: str
    features: npt.NDArray[np.float32]
    others: tuple[str, ...] = ()


class EmbeddedSubset:
    """The embedded samples of a subset of `samples` pairs, read from the folder that `embed_subset` wrote.

    Indices are those of the subset. A sample that could not be read raises `SampleError`, as in the subset.
    """

    def __init__(self, folder: Path, samples: int) -> None:
        self.samples = samples
        parts = sorted(folder.glob("part-*.json"))
        records = [json.loads(part.read_text(encoding="utf-8")) for part in parts]
        self.texts: list[str | None] = [text for record in records for text in record["texts"]]
        self.reasons: list[str | None] = [reason for record in records for reason in record["reasons"]]
        self.others = [tuple(captions) for record in records for captions in record["others"]]
        self.features = [np.load(part.with_suffix(".npy"), mmap_mode="r") for part in parts]
        self.starts = np.cumsum([0] + [len(features) for features in self.features[:-1]]).tolist()
        # Sorted. Only samples that the budget draws were embedded.
        self.indices = np.array([index for record in records for index in record["indices"]], dtype=np.int64)

    def __len__(self) -> int:
        return self.samples

    def __getitem__(self, index: int, /) -> EmbeddedSample:
        row = int(np.searchsorted(self.indices, index))
        text, reason = self.texts[row], self.reasons[row]
        if reason is not None or text is None:
            raise SampleError(reason or IMAGE_UNREADABLE)
        part = bisect_right(self.starts, row) - 1
        features = np.array(self.features[part][row - self.starts[part]])
        return EmbeddedSample(text, features, self.others[row])


class _Chunk(NamedTuple):
    pixels: torch.Tensor
    texts: list[str]
    others: list[tuple[str, ...]]
    reasons: list[str | None]


@dataclass(frozen=True)
class _Chunks(Dataset[_Chunk]):
    """Item c is the c-th chunk of the indices, read and preprocessed."""

    subset: Samples[Sample]
    indices: IndexArray
    size: int
    preprocess: Callable[[list[Any]], torch.Tensor]

    def __getitem__(self, chunk: int) -> _Chunk:
        indices = self.indices[chunk * self.size : (chunk + 1) * self.size]
        samples, reasons = read_samples(self.subset, indices)
        pixels = self.preprocess([s.image for s in samples]) if samples else torch.empty(0)
        return _Chunk(pixels, [s.text for s in samples], [s.others for s in samples], reasons)


def _embed_part(chunks: _Chunks, embed: Embed, path: Path, workers: int) -> None:
    """Write ``path.npy``, float32 (n, d), one row per index of `chunks`, and ``path.json`` with captions and reasons.

    An unreadable sample has a row of zeros, no text, and its drop reason.
    """
    total = len(chunks.indices)
    texts: list[str | None] = []
    others: list[tuple[str, ...]] = []
    reasons: list[str | None] = []
    features: npt.NDArray[np.float32] = np.zeros((total, 0), np.float32)
    with progress("embed images", total, "images") as advance:
        for chunk in loader(chunks, range(-(-total // chunks.size)), workers, torch.device("cpu")):
            readable = [reason is None for reason in chunk.reasons]
            if any(readable):
                vectors = embed(chunk.pixels).float().cpu().numpy()
                if not features.shape[1]:
                    shape = (total, vectors.shape[1])
                    features = new_mapped(path.with_suffix(".npy"), np.float32, shape)
                features[len(reasons) + np.flatnonzero(readable)] = vectors
            chunk_texts, chunk_others = iter(chunk.texts), iter(chunk.others)
            texts += [next(chunk_texts) if ok else None for ok in readable]
            others += [next(chunk_others) if ok else () for ok in readable]
            reasons += chunk.reasons
            advance(len(chunk.reasons), "")
    if isinstance(features, np.memmap):
        features.flush()
    else:
        np.save(path.with_suffix(".npy"), features)
    record = {"indices": chunks.indices.tolist(), "texts": texts, "others": others, "reasons": reasons}
    write_text(path.with_suffix(".json"), json.dumps(record))


def embed_subset(
    subset: Samples[Sample],
    indices: IndexArray,
    folder: Path,
    embed: Embed,
    preprocess: Callable[[list[Any]], torch.Tensor],
    batch_size: int,
    workers: int,
) -> EmbeddedSubset:
    """Embed the images of `subset` at `indices` (every process its share), or reuse `folder` of a killed training.

    Args:
        subset: the samples.
        indices: sorted and distinct.
        folder: where embeddings are written, on a disk that all processes share; named by all that they depend on.
        embed: from pixels to features (n, d).
        preprocess: from images to pixels.
        batch_size: images embedded at once.
        workers: processes that read and decode images.
    """
    from accelerate import PartialState

    state = PartialState()
    if state.is_main_process:
        intact(folder)
    state.wait_for_everyone()
    if not folder.exists():
        partial = folder.with_name(f"{folder.name}.partial")
        if state.is_main_process:
            shutil.rmtree(partial, ignore_errors=True)
            partial.mkdir(parents=True)
        state.wait_for_everyone()
        share = np.array_split(indices, state.num_processes)[state.process_index]
        chunks = _Chunks(subset, share, batch_size, preprocess)
        part = partial / f"part-{state.process_index:05d}"
        _embed_part(chunks, embed, part, workers)
        state.wait_for_everyone()
        if state.is_main_process:
            put_in_place(partial, folder)
        state.wait_for_everyone()
    return EmbeddedSubset(folder, len(subset))
