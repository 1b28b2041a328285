"""Selection from score parts: ours, and two passes in plain numpy.

``python -m bench.selections FOLDER PAIRS`` writes parts of that many pairs to a new folder, 20 bytes per pair,
selects 30% of them, prints the usage, and removes the folder.
"""

import shutil
import sys
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.parquet as pq

from bench.measurement import Usage, measure
from benchmark.core.uids import UID_DTYPE
from benchmark.scoring.score_parts import write_part
from benchmark.scoring.score_pool import load_parts
from benchmark.selection.top_k import select_top_k

ROWS = 100_000  # of a part
DIGIT = 1 << 16


def write_scores(folder: str, pairs: int) -> None:
    """Write random scores of pairs with random uids."""
    rng = np.random.default_rng(0)
    for number, start in enumerate(range(0, pairs, ROWS)):
        rows = min(ROWS, pairs - start)
        uids = rng.integers(0, 2**64, (rows, 2), dtype=np.uint64).view(UID_DTYPE).ravel()
        write_part(Path(folder) / f"{number:05d}.parquet", uids, rng.random(rows, np.float32), {}, {})


def ours(folder: str, k: int) -> None:
    """Select with ``selector=best``."""
    assert len(select_top_k(load_parts(sorted(Path(folder).iterdir())), k, 0).uids) == k


def select_share(folder: str) -> None:
    """Select 30% with ``selector=best``."""
    table = load_parts(sorted(Path(folder).iterdir()))
    select_top_k(table, len(table) * 3 // 10, 0)


def plain(folder: str, k: int) -> None:
    """Select with numpy: a threshold by counting, and the uids from it on, sorted; nothing is checked.

    Scores must be above 0: their bits are in their order then.
    """
    paths = sorted(Path(folder).iterdir())
    counts = np.zeros(DIGIT, np.int64)
    for path in paths:
        counts += np.bincount((scores_of(path) >> 16).view("i4"), minlength=DIGIT)
    high, above = threshold(counts, k)
    counts = np.zeros(DIGIT, np.int64)
    for path in paths:
        bits = scores_of(path)
        counts += np.bincount(bits[bits >> 16 == high] & (DIGIT - 1), minlength=DIGIT)
    low, _ = threshold(counts, k - above)
    uids, count = np.empty(k + ROWS, UID_DTYPE), 0
    for path in paths:
        table = read(path, "uid_high", "uid_low", "score")
        rows = np.flatnonzero(table["score"].to_numpy().view("u4") >= high << 16 | low)
        rows = rows[: k - count]
        for word, name in (("f0", "uid_high"), ("f1", "uid_low")):
            uids[word][count : count + len(rows)] = table[name].to_numpy()[rows]
        count += len(rows)
    assert len(uids[np.argsort(uids["f0"][:k])]) == k


def threshold(counts: npt.NDArray[np.int64], k: int) -> tuple[int, int]:
    """Return the digit of the k-th highest, and how many are above that digit."""
    from_top = np.cumsum(counts[::-1])
    place = int(np.searchsorted(from_top, k))
    return DIGIT - 1 - place, int(from_top[place - 1]) if place else 0


def scores_of(path: Path) -> npt.NDArray[np.uint32]:
    return np.asarray(read(path, "score")["score"].to_numpy().view("u4"))


def read(path: Path, *columns: str) -> pa.Table:
    with pq.ParquetFile(path) as file:
        return file.read(list(columns), use_threads=False)


def report(name: str, usage: Usage, k: int) -> None:
    beside = usage.peak_gib - 16 * k / 2**30
    sys.stdout.write(
        f"{name}: {usage.seconds:.1f} s, {usage.cpu_seconds:.1f} of processors, {usage.peak_gib:.2f} GiB at most,"
        f" {beside:.2f} beside the chosen uids\n"
    )


if __name__ == "__main__":
    target, pairs = sys.argv[1], int(sys.argv[2])
    k = pairs * 3 // 10
    from bench import selections  # functions are measured by the name of their module

    measure(selections.write_scores, target, pairs)
    try:
        used, reference = measure(selections.ours, target, k), measure(selections.plain, target, k)
    finally:
        shutil.rmtree(target)
    report("ours", used, k)
    report("plain numpy", reference, k)
    sys.stdout.write(f"ratio of processor seconds: {used.cpu_seconds / reference.cpu_seconds:.2f}\n")
