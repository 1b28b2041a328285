"""Embeddings of a locked image tower: it sees the same pixels every epoch, so each image is embedded once."""

import shutil
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import torch
from accelerate import PartialState

from benchmark.core.arrow import to_numpy
from benchmark.core.batch import Sample, SampleError, model_text
from benchmark.core.cached_files import intact
from benchmark.core.distributed import same_folder, wait_for_all
from benchmark.core.paths import put_in_place
from benchmark.core.pixel_workers import to_device, to_levels
from benchmark.core.progress import progress
from downstream.batching import pixel_levels
from downstream.training.batch_loader import loader
from downstream.training.training_data import EmbeddedSample, IndexArray, Samples, read_samples

Embed = Callable[[torch.Tensor], torch.Tensor]
Row = tuple[str | None, tuple[str | None, ...], str | None]
# Per sample: index in the subset, captions, reason why it is not readable (or null), float32 embedding.
ROWS = pa.schema(
    {
        "index": pa.int64(),
        "text": pa.large_string(),
        "others": pa.large_list(pa.large_string()),
        "reason": pa.string(),
        "features": pa.large_binary(),
    }
)


class EmbeddedSubset:
    """The embedded samples of a subset of `samples` pairs, read from the folder that `embed_subset` wrote.

    Indices and errors (`SampleError`) are the same as in the subset.
    """

    def __init__(self, folder: Path, samples: int) -> None:
        self.samples = samples
        parts = sorted(folder.glob("part-*.arrow"))
        self.rows = pa.concat_tables(pa.ipc.open_file(pa.memory_map(str(part))).read_all() for part in parts)
        # Sorted. Only samples that the budget draws were embedded.
        self.indices = to_numpy(self.rows["index"])

    def __len__(self) -> int:
        return self.samples

    def __getitem__(self, index: int, /) -> EmbeddedSample:
        position = int(np.searchsorted(self.indices, index))
        row = {name: self.rows[name][position].as_py() for name in ROWS.names}
        if row["reason"] is not None:
            raise SampleError(row["reason"])
        features = np.frombuffer(row["features"], np.float32)
        return EmbeddedSample(row["text"], features, tuple(row["others"]))

    def captions(self) -> Iterator[str]:
        """Yield the captions of all samples as models read them, and their other captions."""
        for column in (self.rows["text"], pc.list_flatten(self.rows["others"])):
            for chunk in column.chunks:
                yield from (model_text(text) for text in chunk.to_pylist() if text is not None)


@dataclass(frozen=True)
class _Chunks:
    """Item c has the pixels of the readable images of chunk c, and (text, others, reason) of each of its indices."""

    subset: Samples[Sample]
    indices: IndexArray
    size: int
    preprocess: Callable[[list[Any]], torch.Tensor]
    levels: torch.Tensor | None

    def __getitem__(self, chunk: int, /) -> tuple[torch.Tensor, list[Row]]:
        indices = self.indices[chunk * self.size : (chunk + 1) * self.size]
        samples, reasons = read_samples(self.subset.__getitem__, indices.tolist())
        images = [sample.image for sample in samples]
        pixels = to_levels(self.preprocess(images) if images else torch.empty(0, 1, 1, 1), self.levels)
        readable: Iterator[Row] = iter([(sample.text, sample.others, None) for sample in samples])
        return pixels, [(None, (), reason) if reason else next(readable) for reason in reasons]


def _embed_part(chunks: _Chunks, embed: Embed, path: Path, workers: int, device: torch.device) -> None:
    """Write `ROWS`, one row per index of `chunks`; an unreadable sample has neither text nor embedding."""
    total, done = len(chunks.indices), 0
    with progress("embed images", total, "images") as advance, pa.ipc.new_file(str(path), ROWS) as file:
        for pixels, rows in loader(chunks, range(-(-total // chunks.size)), workers, device):
            pixels = to_device(pixels, device, chunks.levels)
            vectors = iter(embed(pixels).float().cpu().numpy() if len(pixels) else ())
            texts, others, reasons = zip(*rows, strict=True)
            features = [b"" if reason else next(vectors).tobytes() for reason in reasons]
            count = len(rows)
            columns = (chunks.indices[done : done + count], texts, others, reasons, features)
            arrays = [pa.array(values, kind) for values, kind in zip(columns, ROWS.types, strict=True)]
            file.write_table(pa.table(arrays, schema=ROWS))
            done += count
            advance(count, "")


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
    """Embed the images of `subset` at `indices`, or reuse `folder` of a killed training.

    Processes of a launch with one cache embed a part each. Nodes with separate caches embed all, and send nothing.

    Args:
        indices: sorted and distinct.
        folder: of the embeddings; named by a hash of their inputs.
        embed: from pixels to features (n, d).
        preprocess: from images to pixels.
    """
    processes, rank = same_folder(device), PartialState().process_index
    partial = folder.with_name(f"{folder.name}.partial")
    if (is_first := rank == processes[0]) and not intact(folder):
        shutil.rmtree(partial, ignore_errors=True)
        partial.mkdir(parents=True)
    wait_for_all(device)
    if is_missing := not folder.exists():
        part_indices = np.array_split(indices, len(processes))[processes.index(rank)]
        chunks = _Chunks(subset, part_indices, batch_size, preprocess, pixel_levels(preprocess, device))
        _embed_part(chunks, embed, partial / f"part-{rank:05d}.arrow", workers, device)
    wait_for_all(device)
    if is_first and is_missing:
        put_in_place(partial, folder)
    wait_for_all(device)
    return EmbeddedSubset(folder, len(subset))
