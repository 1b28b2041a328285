"""Bytes that a job will write to the cache, measured on what earlier runs wrote; None where none did."""

import os
from contextlib import suppress
from pathlib import Path

import pyarrow as pa

from benchmark.core.paths import cache_folder
from benchmark.run.job import Job
from benchmark.run.plan.cached_stages import LATER

BYTES_PER_SCORE = 24  # uid and score
SAMPLED_FILES = 3


def scoring_bytes(job: Job, pairs: float) -> int | None:
    """Return the bytes of the scores of so many pairs, and of the features that scoring them leaves in the cache."""
    try:
        features = job.filter.all_features()
    except LATER:
        return None
    per_pair = [_bytes_per_pair(key) for key in features]
    known = [size for size in per_pair if size is not None]
    return round(pairs * (BYTES_PER_SCORE + sum(known))) if len(known) == len(per_pair) else None


def training_bytes(name: str) -> int | None:
    """Return the bytes of the largest trained downstream model of that name in the cache."""
    folders = cache_folder("trained").glob(f"{name}-*")
    return max(map(_bytes_in, folders), default=None)


def _bytes_in(folder: Path) -> int:
    """Return the bytes of the files in a folder, without those that a training removes meanwhile."""
    total = 0
    for parent, _, names in os.walk(folder):
        for name in names:
            with suppress(FileNotFoundError):
                total += (Path(parent) / name).stat().st_size
    return total


def _bytes_per_pair(key: str) -> float | None:
    """Return the bytes of one pair's features, measured on files of any pool."""
    files = sorted(cache_folder("features").glob(f"*/{key}/*.arrow"))[:SAMPLED_FILES]
    rows = sum(map(_rows, files))
    return sum(file.stat().st_size for file in files) / rows if rows else None


def _rows(file: Path) -> int:
    with pa.memory_map(str(file)) as source:
        return int(pa.ipc.open_file(source).read_all().num_rows)
