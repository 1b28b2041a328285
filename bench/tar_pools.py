"""Pools of tars with small images, and work on them that `measurement` calls in separate processes."""

import os
import tempfile
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import torch

from bench.caches import cache_beside, copied_cache
from benchmark.core.batch import Sample
from benchmark.core.uids import UID_DTYPE, UidArray, decode_uids, unite_uids
from benchmark.engine.local import LocalEngine
from benchmark.pool.pool import Pool
from benchmark.pool.reshard import write_shards
from benchmark.pool.subset import index_tars
from benchmark.run.open_samples import open_subset
from benchmark.selection.selection import Selection
from downstream.training.batch_loader import loader
from downstream.training.training_data import SampleOrder, StepBatches, TrainingData
from tests.pools import Row, jpeg, write_tar

ROWS = 10_000  # of a tar
BATCH = 256
CPU, ENGINE = torch.device("cpu"), LocalEngine("cpu", 1)


def write_tars(folder: str, pairs: int) -> None:
    """Write tars as img2dataset does, their index to a cache in the same folder, and every tenth uid to a file."""
    rng, chosen = np.random.default_rng(0), []
    for number, start in enumerate(range(0, pairs, ROWS)):
        rows = min(ROWS, pairs - start)
        path = Path(folder, "shards", f"{number:08d}.tar")
        uids = rng.integers(0, 2**64, (rows, 2), dtype=np.uint64).view(UID_DTYPE).ravel()
        chosen.append(uids[::10])
        if number == 0:
            write_tar(path, _samples(rows))
            first = path.read_bytes()
        path.write_bytes(_with_uids(first, uids))
    np.save(Path(folder, "chosen.npy"), unite_uids(chosen))
    os.environ["XDG_CACHE_HOME"] = cache_beside(folder)
    index_tars(Pool("tars", folder), ENGINE)


def _samples(count: int) -> list[Row]:
    """Return samples that all take as many bytes."""
    image = jpeg(0)
    return [
        Row(
            f"{number:09d}",
            f"https://example.org/images/{number:09d}.jpg",
            f"a photo of thing number {number:09d}, as long as captions of the web are",
            image,
        )
        for number in range(count)
    ]


def _with_uids(tar: bytes, uids: UidArray) -> bytes:
    """Return a tar of n `_samples` with other uids, (n,): `tarfile` would take a minute to write the largest pool."""
    size, uid = tar.index(b"000000001.jpg"), tar.index(b'"uid": "') + len(b'"uid": "')
    samples = np.frombuffer(tar, np.uint8, size * len(uids)).reshape(len(uids), size).copy()
    samples[:, uid : uid + 32] = np.frombuffer("".join(decode_uids(uids)).encode(), np.uint8).reshape(-1, 32)
    return samples.tobytes() + bytes(1024)


def chosen(folder: str) -> UidArray:
    return np.asarray(np.load(Path(folder, "chosen.npy")))


def index(folder: str) -> None:
    """Index all tars, with nothing in the cache."""
    with tempfile.TemporaryDirectory() as cache:
        os.environ["XDG_CACHE_HOME"] = cache
        index_tars(Pool("tars", folder), ENGINE)


def copy(folder: str) -> Iterator[None]:
    """Write a tenth of the pairs to tars of 1,000; the index is cached.

    The metadata of one such tar is in memory: of smaller pools whole tars are written, too.
    """
    with copied_cache(folder), tempfile.TemporaryDirectory() as out:
        yield
        pool = Pool("tars", folder)
        write_shards(pool, chosen(folder), out, ENGINE, shard_size=1000)


def first_batch(folder: str) -> Iterator[None]:
    """Open a tenth of the pairs, decode each image once, and read the first batch; the index is cached."""
    uids = chosen(folder)
    with copied_cache(folder):
        yield
        subset = open_subset(Pool("tars", folder), Selection((uids,), 0.0, len(uids), 0, 0, {}))
        data = TrainingData(subset, SampleOrder(subset.epochs, 0), _count)
        next(loader(StepBatches(data, len(subset), BATCH), range(1), 0, CPU))


def _count(samples: list[Sample]) -> dict[str, torch.Tensor]:
    return {"samples": torch.tensor(len(samples))}
