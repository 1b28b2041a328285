"""Selection at DataComp's small size against plain numpy and DataComp's recipe, each in a process of its own."""

import json
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from benchmark.core.uids import UID_DTYPE, decode_uids
from benchmark.scoring.score_parts import write_part

pytestmark = pytest.mark.perf
CACHED, LISTED = 12_800_000, 3_200_000
PAIRS = 3  # of runs, of which the medians count

# Each function gets a folder and k, and returns how many uids it chose.
OURS = """
from benchmark.engine.local import LocalEngine
from benchmark.pool.pool import Pool
from benchmark.scoring.score_pool import load_parts, score_pool
from benchmark.selection.top_k import select_top_k
from filters.column import Column

def cached(folder, k):
    return len(select_top_k(load_parts(sorted(folder.glob("*"))), k, 0).uids)

def listed(folder, k):
    table = score_pool(Pool("listed", str(folder)), Column("score"), LocalEngine("cpu", 1))
    return len(select_top_k(table, k, 0).uids)
"""
# A threshold over all scores, then the uids at or above it: no check of captions, of uids or of duplicates.
PLAIN = """
import numpy as np
import pyarrow.compute as pc
import pyarrow.parquet as pq

def threshold(folder, k):
    scores = np.concatenate([pq.read_table(p, columns=["score"])["score"].to_numpy() for p in folder.glob("*")])
    return np.partition(scores, len(scores) - k)[len(scores) - k]

def sort(uids):
    uids = np.concatenate(uids)
    return len(uids[np.argsort(uids["f0"])])

def cached(folder, k):
    lowest, chosen = threshold(folder, k), []
    for path in folder.glob("*"):
        table = pq.read_table(path)
        rows = np.flatnonzero(table["score"].to_numpy() >= lowest)
        uids = np.empty(len(rows), "u8,u8")
        uids["f0"], uids["f1"] = table["uid_high"].to_numpy()[rows], table["uid_low"].to_numpy()[rows]
        chosen.append(uids)
    return sort(chosen)

def hex_above(folder, k):
    lowest = threshold(folder, k)
    for path in folder.glob("*"):
        table = pq.read_table(path, columns=["uid", "score"])
        yield table.filter(pc.greater_equal(table["score"], lowest.item()))["uid"]

def listed(folder, k):
    words = [np.frombuffer(bytes.fromhex("".join(uids.to_pylist())), ">u8") for uids in hex_above(folder, k)]
    return sort([word.astype("u8").view("u8,u8") for word in words])
"""
# As its baselines.py does: uids parsed one by one into tuples.
DATACOMP = (
    PLAIN
    + """
def listed(folder, k):
    lowest, chosen = threshold(folder, k), []
    for path in folder.glob("*"):
        frame = pq.read_table(path).to_pandas()
        uids = frame[frame["score"] >= lowest]["uid"]
        chosen.append(np.array([(int(u[:16], 16), int(u[16:], 16)) for u in uids], "u8,u8"))
    array = np.concatenate(chosen)
    array.sort()
    return len(array)
"""
)
MEASURED = """
import json, re, sys, time
from pathlib import Path

def peak():  # of this process: getrusage has the peak of its parent in it
    return int(re.search(r"VmHWM:\\s*(\\d+) kB", Path("/proc/self/status").read_text())[1]) / 2**20

before, start = peak(), time.process_time()
count = {name}(Path(sys.argv[1]), int(sys.argv[2]))
print(json.dumps([count, time.process_time() - start, peak() - before]))
"""


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Score parts of ours in ``cached``; in ``listed`` DataComp's metadata, with uids in hex, captions and urls."""
    made = tmp_path_factory.mktemp("selection")
    (made / "listed").mkdir()
    rng = np.random.default_rng(0)
    for number in range(128):
        words = rng.integers(0, 2**64, (CACHED // 128, 2), dtype=np.uint64).view(UID_DTYPE).ravel()
        scores = rng.random(len(words), np.float32)
        write_part(made / "cached" / f"{number:05d}.parquet", words, scores, {}, 0.0, {})
        if number < 128 * LISTED // CACHED:
            uids = decode_uids(words)
            table = {
                "uid": uids,
                "url": [f"https://images.example.org/{uid}.jpg" for uid in uids],
                "text": [f"a photo of a large dog on the beach, {uid[:9]}" for uid in uids],
                "score": scores,
            }
            pq.write_table(pa.table(table), made / "listed" / f"{number:05d}.parquet")
    return made


def measure(code: str, name: str, folder: Path, k: int) -> tuple[float, float]:
    """Processor seconds without imports, and peak memory beyond what was there before, in GiB; in a new process."""
    command = [sys.executable, "-c", code + MEASURED.format(name=name), str(folder / name), str(k)]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    count, seconds, peak = json.loads(done.stdout.splitlines()[-1])
    assert count >= k
    return seconds, peak


def compare(
    name: str, folder: Path, k: int, monkeypatch: pytest.MonkeyPatch, reference: str, runs: int
) -> float:
    """Print the medians of pairs of runs, and return that of the ratios of their processor seconds."""
    pairs = []
    for _ in range(runs):
        monkeypatch.setenv("XDG_CACHE_HOME", tempfile.mkdtemp(dir=folder))  # nothing is scored yet
        pairs.append((*measure(OURS, name, folder, k), *measure(reference, name, folder, k)))
    ours, our_peak, plain, plain_peak = (statistics.median(column) for column in zip(*pairs, strict=True))
    ratio = statistics.median(pair[0] / pair[2] for pair in pairs)
    print(
        f"\n{name}, k = {k:,}: ours {ours:.2f} s, {our_peak:.2f} GiB; reference {plain:.2f} s, {plain_peak:.2f} GiB;"
        f" {ratio:.2f} of its time"
    )
    return ratio


def test_selecting_from_cached_scores(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert compare("cached", folder, int(CACHED * 0.3), monkeypatch, PLAIN, PAIRS) < 1.2


def test_selecting_by_a_column_from_nothing(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert compare("listed", folder, int(LISTED * 0.3), monkeypatch, PLAIN, PAIRS) < 2
    assert compare("listed", folder, int(LISTED * 0.3), monkeypatch, DATACOMP, 1) < 0.5
