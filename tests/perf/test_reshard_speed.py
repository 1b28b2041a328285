"""Index and resharding of 100,000 pairs of 30 kB against plain ways in one run: `tarfile` and json, and ``cp -r``."""

import hashlib
import io
import json
import resource
import shutil
import subprocess
import tarfile
import time
from collections.abc import Callable, Sequence
from itertools import groupby
from pathlib import Path
from statistics import median
from typing import IO, NamedTuple, cast

import numpy as np
import pyarrow as pa
import pytest

from benchmark.core.uids import UidArray, decode_uids, encode_uids, unite_uids
from benchmark.engine.local import LocalEngine
from benchmark.pool.pool import Pool
from benchmark.pool.tar_index import TarIndex, index_tar, save_index
from benchmark.subset.index_tars import index_tars
from benchmark.subset.reshard import Copy, reshard
from benchmark.subset.subset import Subset, selected_samples, use_metadata_captions

pytestmark = pytest.mark.perf
TARS, PAIRS, BYTES = 10, 10_000, 30_000  # pairs per tar, bytes per image
RUNS = 3
# Of the seconds of ``cp -r`` of everything.
GOALS = {"10%": 0.5, "30%": 0.6, "10%, no index": 1.0}
MEMORY_TARS = 50


class Cost(NamedTuple):
    """What something took: seconds by the clock and of processors, and bytes above those that it began with."""

    clock: float
    processor: float
    memory: int


def processor_seconds() -> float:
    usages = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(usage.ru_utime + usage.ru_stime for usage in usages)


def resident(name: str) -> int:
    """Return this process's ``VmRSS`` or its peak, ``VmHWM``, in bytes."""
    (line,) = [text for text in Path("/proc/self/status").read_text().splitlines() if text.startswith(name)]
    return int(line.split()[1]) * 1024


def cost(call: Callable[[], object]) -> Cost:
    Path("/proc/self/clear_refs").write_text("5")  # the peak begins anew
    before, clock, processor = resident("VmRSS"), time.perf_counter(), processor_seconds()
    call()
    seconds = time.perf_counter() - clock
    return Cost(seconds, processor_seconds() - processor, max(0, resident("VmHWM") - before))


def report(name: str, costs: Sequence[Cost], reference: Sequence[Cost]) -> tuple[float, float]:
    """Print the medians; return those of the ratios to the reference, run by run: by the clock, and of processors."""
    clock = median(c.clock / r.clock for c, r in zip(costs, reference, strict=True))
    processor = median(c.processor / r.processor for c, r in zip(costs, reference, strict=True))
    seconds = (
        f"{median(c.clock for c in costs):.2f} s, {median(c.processor for c in costs):.2f} of processors"
    )
    peak = max(c.memory for c in costs) / 2**20
    print(f"\n{name}: {seconds}, {peak:.0f} MiB; {clock:.2f} and {processor:.2f} of the reference")
    return clock, processor


def record(number: int) -> dict[str, object]:
    """Return the fields that img2dataset and DataComp write of a pair."""
    return {
        "uid": hashlib.md5(b"%d" % number, usedforsecurity=False).hexdigest(),
        "url": f"https://example.org/images/{number}.jpg",
        "caption": f"a photo of thing number {number}, as long as captions of the web are",
        "key": f"{number:09d}",
        "status": "success",
        "error_message": None,
        "width": 256,
        "height": 256,
        "original_width": 1024,
        "original_height": 768,
        "exif": "{}",
        "sha256": hashlib.sha256(b"%d" % number).hexdigest(),
        "clip_b32_similarity_score": 0.25,
        "clip_l14_similarity_score": 0.21,
    }


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A pool as webdataset writes it, each time of writing a fraction; without metadata."""
    folder = tmp_path_factory.mktemp("reshard") / "pool"
    (folder / "shards").mkdir(parents=True)
    noise = np.random.default_rng(0).bytes(2 * BYTES)
    for number in range(TARS):
        with tarfile.open(folder / "shards" / f"{number:08d}.tar", "w") as tar:
            for pair in range(number * PAIRS, (number + 1) * PAIRS):
                fields, at = record(pair), pair % BYTES
                files = {
                    "jpg": noise[at : at + BYTES],
                    "json": json.dumps(fields).encode(),
                    "txt": str(fields["caption"]).encode(),
                }
                for extension, data in files.items():
                    member = tarfile.TarInfo(f"{pair:09d}.{extension}")
                    member.size, member.mtime = len(data), 1_700_000_000.25
                    tar.addfile(member, io.BytesIO(data))
    return folder


def plain_loop(path: Path) -> int:
    count = 0
    with tarfile.open(path) as tar:
        for member in tar:
            file = tar.extractfile(member)
            if file and member.name.endswith(".json"):
                count += "uid" in json.loads(file.read())
            elif file and member.name.endswith(".txt"):
                file.read().decode()
    return count


def test_samples_indexed_per_second(folder: Path) -> None:
    path = folder / "shards" / "00000000.tar"
    plain, ours = [], []
    for _ in range(RUNS):
        plain.append(cost(lambda: plain_loop(path)))
        ours.append(cost(lambda: index_tar(path, {})))
    assert plain_loop(path) == len(index_tar(path, {})) == PAIRS
    rate = PAIRS / min(c.processor for c in ours)
    _, ratio = report(f"index, {rate:,.0f} samples/s a core; tarfile and json", ours, plain)
    assert ratio < 0.5


def chosen(share: float, seed: int = 0) -> UidArray:
    numbers = np.random.default_rng(seed).choice(TARS * PAIRS, int(share * TARS * PAIRS), replace=False)
    return unite_uids([encode_uids([str(record(int(number))["uid"]) for number in numbers])])


def copy_of(pool: Pool, uids: UidArray, out: Path) -> Copy:
    return Copy(use_metadata_captions(selected_samples(pool, uids), pool), out)


def write(folder: Path, subsets: Sequence[UidArray], out: Path) -> None:
    pool, engine = Pool("p", str(folder)), LocalEngine("cpu")
    index_tars(pool, engine)
    reshard(pool, [copy_of(pool, uids, out / str(n)) for n, uids in enumerate(subsets)], engine)


def test_seconds_of_resharding(folder: Path, cache: Path, tmp_path: Path) -> None:
    tenth, third, other = chosen(0.1), chosen(0.3), chosen(0.1, seed=1)
    jobs = {
        "10%, no index": [tenth],
        "10%": [tenth],
        "30%": [third],
        "10%, 10% and 30% together": [tenth, other, third],
    }
    costs: dict[str, list[Cost]] = {name: [] for name in jobs}
    copies = []
    for _ in range(RUNS):
        shutil.rmtree(cache)
        copies.append(cost(lambda: subprocess.run(["cp", "-r", folder, tmp_path / "cp"], check=True)))
        shutil.rmtree(tmp_path / "cp")
        for name, subsets in jobs.items():
            costs[name].append(cost(lambda subsets=subsets: write(folder, subsets, tmp_path / "out")))
            shutil.rmtree(tmp_path / "out")
    print(
        f"\ncp -r: {median(c.clock for c in copies):.2f} s, {median(c.processor for c in copies):.2f} of processors"
    )
    ratios = {name: report(f"reshard {name}; cp -r of everything", costs[name], copies) for name in jobs}
    print(
        "goals by the clock, on an idle machine:", GOALS, "here:", {name: ratios[name][0] for name in GOALS}
    )


def plain_reshard(folder: Path, uids: UidArray, out: Path) -> int:
    """Write the pairs with these uids to one tar, with `tarfile` alone and without a change."""
    wanted, count = set(decode_uids(uids)), 0
    with tarfile.open(out, "w") as written:
        for path in sorted(folder.glob("shards/*.tar")):
            with tarfile.open(path) as tar:
                for _, group in groupby(tar, lambda member: member.name.partition(".")[0]):
                    files = [(member, cast(IO[bytes], tar.extractfile(member)).read()) for member in group]
                    (fields,) = (json.loads(data) for member, data in files if member.name.endswith(".json"))
                    if fields["uid"] in wanted:
                        count += 1
                        for member, data in files:
                            written.addfile(member, io.BytesIO(data))
    return count


def test_processor_seconds_of_resharding(folder: Path, cache: Path, tmp_path: Path) -> None:
    tenth = chosen(0.1)
    ours, plain = [], []
    for _ in range(RUNS):
        shutil.rmtree(cache, ignore_errors=True)
        ours.append(cost(lambda: write(folder, [tenth], tmp_path / "out")))
        shutil.rmtree(tmp_path / "out")
        plain.append(cost(lambda: plain_reshard(folder, tenth, tmp_path / "plain.tar")))
    assert plain_reshard(folder, tenth, tmp_path / "plain.tar") == len(tenth)
    _, ratio = report("reshard 10%, no index; a loop with tarfile", ours, plain)
    assert ratio < 0.4


def test_memory_of_a_subset_does_not_grow_with_the_pool(tmp_path: Path) -> None:
    shards = tmp_path / "pool" / "shards"
    shards.mkdir(parents=True)
    for number in range(MEMORY_TARS):
        (shards / f"{number:04d}.tar").write_bytes(bytes(1024))
    pool = Pool("p", str(tmp_path / "pool"))
    rng = np.random.default_rng(0)
    count = MEMORY_TARS * PAIRS
    uids = rng.integers(0, 2**64, (count, 2), np.uint64).view("u8,u8").ravel()
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
            }
        )
        of_tar = uids[number * PAIRS : (number + 1) * PAIRS]
        save_index(pool._index_path(shard), TarIndex(of_tar, rows))
    some = unite_uids([uids[::100]])
    used = cost(lambda: Subset(pool, some))
    print(
        f"\nsubset of {len(some):,} of {count:,} pairs: {used.memory / count:.0f} bytes a pair of the pool, {used}"
    )
    assert used.memory < 20 * count
