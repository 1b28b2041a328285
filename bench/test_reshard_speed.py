"""Index and resharding of 100,000 pairs of 30 kB against plain ways: `tarfile` and json, and ``cp -r`` of the pool.

python -m pytest -m perf -s bench/test_reshard_speed.py
"""

import io
import json
import shutil
import tarfile
from dataclasses import dataclass, replace
from functools import partial
from itertools import groupby
from pathlib import Path
from typing import IO, cast

import numpy as np
import pyarrow as pa
import pytest

from bench.measurement import Row, Usage, compare, measure, measure_command
from bench.reshard_pools import BYTES, PAIRS, TARS, chosen, linked, tars_of, write_tars
from benchmark.core.uids import decode_uids, unite_uids
from benchmark.engine.local import LocalEngine
from benchmark.pool.pool import Pool
from benchmark.pool.reshard import write_shards
from benchmark.pool.subset import Subset, index_tars
from benchmark.pool.tar_index import TarIndex, index_tar, save_index

pytestmark = pytest.mark.perf
OF_THE_LOOP = 2  # tars of the pool of longer work


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("reshard") / "pool"
    write_tars(folder)
    return folder


def index(folder: str) -> None:
    assert len(index_tar(tars_of(folder)[0], {})) == PAIRS


def plain_index(folder: str) -> None:
    count = 0
    with tarfile.open(tars_of(folder)[0]) as tar:
        for member in tar:
            file = tar.extractfile(member)
            if file and member.name.endswith(".json"):
                count += "uid" in json.loads(file.read())
            elif file and member.name.endswith(".txt"):
                file.read().decode()
    assert count == PAIRS


def test_indexing(folder: Path) -> None:
    ours, plain = partial(measure, index, str(folder)), partial(measure, plain_index, str(folder))
    row = compare(f"index {PAIRS:,} pairs of a tar", ours, "tarfile and json", plain, goal=0.3)
    assert row.cpu_ratio < 0.45


def write(folder: str, out: str, fraction: float) -> None:
    """Index tars that are not indexed yet, and write a subset."""
    pool, engine = Pool("p", folder), LocalEngine("cpu")
    index_tars(pool, engine)
    write_shards(pool, chosen(folder, fraction), out, engine)


@dataclass(frozen=True)
class Resharding:
    """Measures the writing of subsets of the pool in `folder` to `out`; each is removed afterwards."""

    folder: Path
    cache: Path
    out: Path

    def ours(self, fraction: float, indexed: bool = True) -> Usage:
        if indexed:
            index_tars(Pool("p", str(self.folder)), LocalEngine("cpu"))
        else:
            shutil.rmtree(self.cache, ignore_errors=True)
        return self._removed(measure(write, str(self.folder), str(self.out), fraction))

    def copy(self) -> Usage:
        return self._removed(measure_command("cp", "-r", str(self.folder), str(self.out)))

    def plain(self, share: float) -> Usage:
        return self._removed(measure(plain_reshard, str(self.folder), str(self.out), share))

    def _removed(self, usage: Usage) -> Usage:
        shutil.rmtree(self.out)
        return usage


@pytest.fixture
def resharding(folder: Path, cache: Path, tmp_path: Path) -> Resharding:
    return Resharding(folder, cache, tmp_path / "out")


def of_first(tars: int, resharding: Resharding, tmp_path: Path) -> Resharding:
    """Return the same for a pool of the first tars."""
    return replace(resharding, folder=linked(resharding.folder, tars, tmp_path / "pool"))


def beside_cp(resharding: Resharding, share: float, indexed: bool, goal: float) -> Row:
    with_index = "index there" if indexed else "no index"
    work = f"reshard {share:.0%} of {TARS * PAIRS:,} pairs of {BYTES // 1000} kB, {with_index}"
    ours = partial(resharding.ours, share, indexed=indexed)
    return compare(work, ours, "cp -r of everything", resharding.copy, goal)


def test_resharding_beside_a_copy_of_everything(resharding: Resharding) -> None:
    # Both wait for the disk, and disks differ in speed: bounds are twice the goals.
    tenth = beside_cp(resharding, 0.1, indexed=True, goal=0.5)
    thirty = beside_cp(resharding, 0.3, indexed=True, goal=0.6)
    without_index = beside_cp(resharding, 0.1, indexed=False, goal=1)
    assert (tenth.ratio < 1, thirty.ratio < 1.2, without_index.ratio < 2) == (True, True, True)


def plain_reshard(folder: str, out: str, share: float) -> None:
    """Write a fraction of the pairs to one tar, with only `tarfile` and without a change."""
    Path(out).mkdir()
    wanted, count = set(decode_uids(chosen(folder, share))), 0
    with tarfile.open(Path(out) / "subset.tar", "w") as written:
        for path in tars_of(folder):
            with tarfile.open(path) as tar:
                for _, group in groupby(tar, lambda member: member.name.partition(".")[0]):
                    files = [(member, cast(IO[bytes], tar.extractfile(member)).read()) for member in group]
                    (fields,) = (json.loads(data) for member, data in files if member.name.endswith(".json"))
                    if fields["uid"] in wanted:
                        count += 1
                        for member, data in files:
                            written.addfile(member, io.BytesIO(data))
    assert count == len(wanted)


def test_resharding_beside_a_plain_loop(resharding: Resharding, tmp_path: Path) -> None:
    few = of_first(OF_THE_LOOP, resharding, tmp_path)
    ours, plain = partial(few.ours, 0.1, indexed=False), partial(few.plain, 0.1)
    work = f"reshard 10% of {OF_THE_LOOP * PAIRS:,}, no index"
    assert compare(work, ours, "a loop with tarfile", plain).cpu_ratio < 0.4


def indexed_pool(folder: Path, tars: int) -> Pool:
    """Return a pool of empty tars with a cached index, and every hundredth uid."""
    shards = folder / "shards"
    shards.mkdir(parents=True)
    for number in range(tars):
        (shards / f"{number:04d}.tar").write_bytes(bytes(1024))
    pool = Pool("p", str(folder))
    uids = np.random.default_rng(0).integers(0, 2**64, (tars * PAIRS, 2), np.uint64).view("u8,u8").ravel()
    for number, shard in enumerate(pool.tars):
        texts = [f"a caption of the web, {number} {row}, and what else is said" for row in range(PAIRS)]
        places = np.arange(PAIRS) * 32_768
        rows = pa.table(
            {
                "text": pa.array(texts, pa.large_string()),
                "offset": places,
                "size": np.full(PAIRS, BYTES),
                "mismatched": np.zeros(PAIRS, bool),
                "extents": pa.array([[at, at + 32_768] for at in places.tolist()], pa.large_list(pa.int64())),
                "extensions": pa.array([b"jpg"] * PAIRS, pa.large_binary()),
                "members": pa.array([[at, BYTES] for at in places.tolist()], pa.large_list(pa.int64())),
            }
        )
        of_tar = uids[number * PAIRS : (number + 1) * PAIRS]
        save_index(pool._index_path(shard), TarIndex(of_tar, rows))
    np.save(folder / "chosen.npy", unite_uids([uids[::100]]))
    return pool


def open_subset(folder: str) -> None:
    Subset(Pool("p", folder), np.load(Path(folder) / "chosen.npy"))


def test_memory_of_a_subset_does_not_grow_with_the_pool(cache: Path, tmp_path: Path) -> None:
    small, large = 5, 50
    peaks = []
    for tars in (small, large):
        indexed_pool(tmp_path / str(tars), tars)
        peaks.append(measure(open_subset, str(tmp_path / str(tars))).peak_gib)
    bytes_a_pair = (peaks[1] - peaks[0]) * 2**30 / ((large - small) * PAIRS)
    print(f"\nsubset of a hundredth: {bytes_a_pair:.1f} bytes a pair of the pool, {peaks} GiB")
    assert bytes_a_pair < 20
