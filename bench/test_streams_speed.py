"""Images for a training by 1, 2 and 4 processes: from a stream, at random offsets, by webdataset's own loop.

Each process, as in a launch, reads, decodes and preprocesses its part of the batches.
"""

import mmap
import os
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from bench.measurement import compare, measure
from bench.photos import write_photos
from benchmark.core.batch import Sample
from benchmark.engine.local import LocalEngine
from benchmark.pool.pool import Pool
from benchmark.pool.reshard import write_shards
from benchmark.pool.streamed_subset import StreamedSubset
from benchmark.pool.subset import Subset
from downstream.training.streaming import StreamedBatches
from downstream.training.training_data import SampleOrder, StepBatches, TrainingData, TrainingSubset

pytestmark = pytest.mark.perf
IMPORTS = ("open_clip", "webdataset")
TARS, IMAGES, BATCH = 16, 128, 64
TOTAL = TARS * IMAGES
Batches = Callable[
    [int, int], Iterator[int]
]  # of a rank and the number of ranks: the size of each of its parts


class Pixels:
    """Joins samples as open_clip's training does."""

    def __init__(self) -> None:
        from open_clip import image_transform

        torch.set_num_threads(1)
        self.preprocess: Any = image_transform(224, is_train=False)

    def __call__(self, samples: list[Sample]) -> dict[str, torch.Tensor]:
        return {"pixels": torch.stack([self.preprocess(sample.image) for sample in samples])}


def in_processes(batches: Batches, processes: int) -> None:
    """Read the parts of all ranks: rank 0's in this process, to measure its memory, the others' in forks."""
    sizes = np.frombuffer(mmap.mmap(-1, 8 * processes), np.int64)  # shared with the forks
    forks = []
    for rank in range(1, processes):
        if (fork := os.fork()) == 0:
            sizes[rank] = sum(batches(rank, processes))
            os._exit(0)
        forks.append(fork)
    sizes[0] = sum(batches(0, processes))
    assert all(os.waitpid(fork, 0)[1] == 0 for fork in forks)
    assert sizes.sum() == TOTAL


def training_data(subset: TrainingSubset) -> TrainingData[Sample]:
    return TrainingData(subset, SampleOrder(subset.epochs, 0), Pixels())


def stream(folder: str, processes: int) -> Iterator[None]:
    """Read one epoch of a stream."""
    data = training_data(StreamedSubset(folder, np.load(Path(folder) / "sample_ids.npy")))

    def batches(rank: int, ranks: int) -> Iterator[int]:
        streamed = StreamedBatches(data, TOTAL, BATCH, rank, ranks, workers=1)
        return (batch.size for batch in streamed.batches(range(TOTAL // BATCH)))

    yield
    in_processes(batches, processes)


def random_access(folder: str, processes: int) -> Iterator[None]:
    """Read one epoch at random offsets."""
    pool = Pool("x", folder)
    data = training_data(Subset(pool, np.load(Path(folder) / "sample_ids.npy")))

    def batches(rank: int, ranks: int) -> Iterator[int]:
        indexed = StepBatches(data, TOTAL, BATCH, rank, ranks)
        return (indexed[step].size for step in range(TOTAL // BATCH))

    yield
    in_processes(batches, processes)


def plain_webdataset(folder: str, processes: int) -> Iterator[None]:
    """Read every tar once, shuffled as open_clip does, with samples of whole tars in each process."""
    import webdataset

    preprocess = Pixels().preprocess
    urls = sorted(map(str, Path(folder).glob("shards/*.tar")))

    def batches(rank: int, ranks: int) -> Iterator[int]:
        part = webdataset.WebDataset(urls[rank::ranks], shardshuffle=TARS).shuffle(1000).decode("pilrgb")
        pairs = part.rename(image="jpg", text="txt").map_dict(image=preprocess).to_tuple("image", "text")
        return (len(texts) for _, texts in pairs.batched(BATCH // ranks))

    yield
    in_processes(batches, processes)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> str:
    """A resharded subset of photos."""
    root = tmp_path_factory.mktemp("photos")
    write_photos(root / "shards", TARS, IMAGES)
    pool = Pool("x", str(root))
    uids = np.sort(np.concatenate([pool.index(shard).uids for shard in pool.tars]))
    write_shards(pool, uids, root / "new", LocalEngine(workers=1), shard_size=IMAGES)
    return str(root / "new")


@pytest.mark.parametrize("processes", [1, 2, 4])
def test_a_stream_beside_plain_webdataset(folder: str, processes: int) -> None:
    row = compare(
        f"read {TOTAL:,} images as a stream, {processes} processes",
        partial(measure, stream, folder, processes),
        "webdataset's own loop",
        partial(measure, plain_webdataset, folder, processes),
        1.05,
    )
    assert row.ratio < 1.05


@pytest.mark.parametrize("processes", [1, 2, 4])
def test_a_stream_beside_random_access(folder: str, processes: int) -> None:
    compare(
        f"read {TOTAL:,} images as a stream, {processes} processes, beside random offsets",
        partial(measure, stream, folder, processes),
        "at random offsets of local tars",
        partial(measure, random_access, folder, processes),
    )
