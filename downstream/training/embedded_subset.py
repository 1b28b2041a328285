"""Embeddings of a locked image tower: it sees the same pixels every epoch, so each image is embedded once."""

import shutil
from bisect import bisect_right
from collections.abc import Callable
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import torch
from accelerate import PartialState
from PIL import Image

from benchmark.core.arrow import from_numpy, from_strings, to_numpy
from benchmark.core.batch import Sample, SampleError
from benchmark.core.cached_files import intact
from benchmark.core.mapped_files import new_mapped
from benchmark.core.paths import put_in_place
from benchmark.core.progress import progress
from downstream.training.batch_loader import loader
from downstream.training.training_data import IndexArray, Samples, read_samples

Embed = Callable[[torch.Tensor], torch.Tensor]
# Per sample: its index in the subset, its captions, and the reason why it is not readable, or null.
ROWS = pa.schema(
    {
        "index": pa.int64(),
        "text": pa.large_string(),
        "others": pa.large_list(pa.large_string()),
        "reason": pa.string(),
    }
)


@dataclass(frozen=True, eq=False)
class EmbeddedSample:
    """A pair with the embedding of its image, shape (d,), and the other captions of the image."""

    text: str
    features: npt.NDArray[np.float32]
    others: tuple[str, ...] = ()


class EmbeddedSubset:
    """The embedded samples of a subset of `samples` pairs, read from the folder that `embed_subset` wrote.

    Indices and errors (`SampleError`) are the same as in the subset.
    """

    def __init__(self, folder: Path, samples: int) -> None:
        self.samples = samples
        parts = sorted(folder.glob("part-*.arrow"))
        rows = pa.concat_tables(pa.ipc.open_file(pa.memory_map(str(part))).read_all() for part in parts)
        self.texts, self.reasons, self.others = (rows[name] for name in ("text", "reason", "others"))
        self.without_others = not any(len(others.values) for others in self.others.chunks)
        self.features = [np.load(part.with_suffix(".npy"), mmap_mode="r") for part in parts]
        self.starts = np.cumsum([0] + [len(features) for features in self.features[:-1]]).tolist()
        # Sorted. Only samples that the budget draws were embedded.
        self.indices = to_numpy(rows["index"])

    def __len__(self) -> int:
        return self.samples

    def __getitem__(self, index: int, /) -> EmbeddedSample:
        row = int(np.searchsorted(self.indices, index))
        text = self.texts[row].as_py()
        if text is None:
            raise SampleError(self.reasons[row].as_py())
        others = () if self.without_others else tuple(self.others[row].as_py())
        part = bisect_right(self.starts, row) - 1
        features = np.array(self.features[part][row - self.starts[part]])
        return EmbeddedSample(text, features, others)


class _Chunk(NamedTuple):
    pixels: torch.Tensor
    texts: list[str]
    others: list[tuple[str, ...]]
    reasons: list[str | None]


@dataclass(frozen=True)
class _Chunks:
    """Item c is the c-th chunk of the indices, read and preprocessed."""

    subset: Samples[Sample]
    indices: IndexArray
    size: int
    preprocess: Callable[[list[Any]], torch.Tensor]

    def __getitem__(self, chunk: int, /) -> _Chunk:
        indices = self.indices[chunk * self.size : (chunk + 1) * self.size]
        samples, reasons = read_samples(self.subset, indices)
        pixels = self.preprocess([s.image for s in samples]) if samples else torch.empty(0)
        return _Chunk(pixels, [s.text for s in samples], [s.others for s in samples], reasons)

    def item_bytes(self) -> int:
        """Return the bytes of a chunk's pixels, which the size of an image does not change."""
        return self.size * self.preprocess([Image.new("RGB", (64, 64))]).nbytes


def _embed_part(chunks: _Chunks, embed: Embed, path: Path, workers: int, device: torch.device) -> None:
    """Write ``path.npy``, float32 (n, d), and ``path.arrow``, `ROWS`, both with one row per index of `chunks`.

    An unreadable sample has a row of zeros, no text, and its drop reason.
    """
    total = len(chunks.indices)
    tables = [ROWS.empty_table()]
    done = 0
    features: npt.NDArray[np.float32] = np.zeros((total, 0), np.float32)
    with progress("embed images", total, "images") as advance:
        for chunk in loader(chunks, range(-(-total // chunks.size)), workers, device, chunks.item_bytes):
            readable = np.array([reason is None for reason in chunk.reasons])
            if readable.any():
                vectors = embed(chunk.pixels).float().cpu().numpy()
                if not features.shape[1]:
                    shape = (total, vectors.shape[1])
                    features = new_mapped(path.with_suffix(".npy"), np.float32, shape)
                features[done + np.flatnonzero(readable)] = vectors
            tables.append(_rows(chunk, chunks.indices[done : done + len(readable)]))
            done += len(readable)
            advance(len(readable), "")
    if isinstance(features, np.memmap):
        features.flush()
    else:
        np.save(path.with_suffix(".npy"), features)
    with pa.ipc.new_file(str(path.with_suffix(".arrow")), ROWS) as file:
        file.write_table(pa.concat_tables(tables).combine_chunks())


def _rows(chunk: _Chunk, indices: IndexArray) -> pa.Table:
    """Return a row of `ROWS` per sample of a chunk."""
    texts, others = iter(chunk.texts), iter(chunk.others)
    of_samples = [next(others) if reason is None else () for reason in chunk.reasons]
    captions = from_strings([text.encode() for text in chain(*of_samples)], pa.large_string())
    bounds = np.cumsum([0, *map(len, of_samples)], dtype=np.int64)
    columns = [
        from_numpy(indices),
        pa.array([next(texts) if reason is None else None for reason in chunk.reasons]),
        pa.LargeListArray.from_arrays(from_numpy(bounds), captions),
        pa.array(chunk.reasons),
    ]
    return pa.table(columns, ROWS.names).cast(ROWS)


def embed_subset(
    subset: Samples[Sample],
    indices: IndexArray,
    folder: Path,
    embed: Embed,
    preprocess: Callable[[list[Any]], torch.Tensor],
    batch_size: int,
    workers: int,
    device: torch.device,
) -> EmbeddedSubset:
    """Embed the images of `subset` at `indices` (every process a part), or reuse `folder` of a killed training.

    Args:
        subset: the samples.
        indices: sorted and distinct.
        folder: where embeddings are written, on a disk that all processes share; named by a hash of their inputs.
        embed: from pixels to features (n, d).
        preprocess: from images to pixels.
        batch_size: images embedded at once.
        workers: processes that read and decode images.
        device: where `embed` computes.
    """
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
        part_indices = np.array_split(indices, state.num_processes)[state.process_index]
        chunks = _Chunks(subset, part_indices, batch_size, preprocess)
        part = partial / f"part-{state.process_index:05d}"
        _embed_part(chunks, embed, part, workers, device)
        state.wait_for_everyone()
        if state.is_main_process:
            put_in_place(partial, folder)
        state.wait_for_everyone()
    return EmbeddedSubset(folder, len(subset))
