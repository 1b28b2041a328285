"""Reconstructions of a set of captions by an autoencoder, computed by an engine: one parquet file per shard."""

import logging
import time
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import torch

from benchmark.core.cached_files import intact
from benchmark.core.paths import atomic_write
from benchmark.core.progress import progress
from benchmark.core.temporaries import whole_files
from benchmark.core.uids import decode_uids
from benchmark.engine.base import Engine
from benchmark.pool.layout import Shard
from benchmark.pool.pool import Pool
from filters.icc.autoencoder import Autoencoder

log = logging.getLogger(__name__)
TEXT = frozenset({"text"})


class ReconstructShard:
    """Reconstructs the captions of a shard and writes its file at once, so an interrupted run repeats at most one."""

    light = False

    def __init__(self, captions: Pool, autoencoder: Autoencoder, folder: Path) -> None:
        self.captions = captions
        self.autoencoder = autoencoder
        self.folder = folder

    def setup(self, device: str) -> None:
        """Load the models."""
        self.autoencoder.setup(torch.device(device))

    def __call__(self, shard: Shard) -> int:
        """Write the reconstructions of one shard; return its number of captions."""
        uids: list[str] = []
        texts: list[str] = []
        beams: list[list[str]] = []
        for batch in self.captions.batches(shard, TEXT, self.autoencoder.batch_size, Counter()):
            uids += decode_uids(batch.uids)
            texts += batch.texts
            beams += self.autoencoder.reconstruct(batch.texts)
        with atomic_write(self.folder / f"{shard.name}.parquet") as temporary:
            pq.write_table(pa.table({"uid": uids, "text": texts, "reconstructions": beams}), temporary)
        return len(uids)


def reconstruct(captions: Pool, autoencoder: Autoencoder, engine: Engine, folder: Path) -> dict[str, float]:
    """Write the reconstructions of all captions to `folder`, one file per shard; existing files are kept."""
    shards = [s for s in captions.shards(TEXT) if not intact(folder / f"{s.name}.parquet")]
    started, done = time.monotonic(), 0
    with progress(f"reconstruct {folder.parent.name}", len(shards), "shards") as advance:
        for count in engine.run(ReconstructShard(captions, autoencoder, folder), shards):
            done += count
            advance(1, f"{done / (time.monotonic() - started):.1f} captions/s")
    return {"captions_per_second": round(done / (time.monotonic() - started), 2)}


@dataclass(frozen=True)
class Reconstructed:
    """n captions with their reconstructions: a list of beams per caption."""

    uids: list[str]
    texts: list[str]
    beams: list[list[str]]


def read_reconstructions(folder: Path) -> Reconstructed:
    """Read all files of reconstructions in `folder`, in the order of their names."""
    table = pa.concat_tables(_parts(folder))
    return Reconstructed(*(table[name].to_pylist() for name in ("uid", "text", "reconstructions")))


def _parts(folder: Path) -> Iterator[pa.Table]:
    for path in whole_files(folder, "*.parquet"):
        yield pq.read_table(path)
