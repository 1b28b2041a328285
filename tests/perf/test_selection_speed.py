"""Selection at DataComp's small size against the plain way, in one run."""

import resource
import time

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from benchmark.core.uids import UID_DTYPE, decode_uids
from benchmark.scoring.score_parts import write_part
from benchmark.scoring.score_pool import load_parts
from benchmark.selection.top_k import select_top_k

pytestmark = pytest.mark.perf
ROWS, PARTS = 3_200_000, 32


@pytest.fixture(scope="module")
def parts(tmp_path_factory):
    """Score parts of ours in ``ours``, the same as DataComp's metadata has them (uids in hex) in ``datacomp``."""
    folder = tmp_path_factory.mktemp("parts")
    (folder / "datacomp").mkdir()
    rng = np.random.default_rng(0)
    for number in range(PARTS):
        words = rng.integers(0, 2**64, (ROWS // PARTS, 2), dtype=np.uint64).view(UID_DTYPE).ravel()
        scores = rng.random(ROWS // PARTS, np.float32)
        write_part(folder / "ours" / f"{number}.parquet", words, scores, {}, 0.0, {})
        table = pa.table({"uid": decode_uids(words), "score": scores})
        pq.write_table(table, folder / "datacomp" / f"{number}.parquet")
    return folder


def datacomps_recipe(paths, k: int) -> int:
    """Threshold over all scores, then uids parsed one by one into tuples (n + 1 rows, ties included)."""
    scores = np.concatenate([pq.read_table(p, columns=["score"])["score"].to_numpy() for p in paths])
    threshold = -np.sort(-scores)[k]
    chosen = []
    for path in paths:
        frame = pq.read_table(path).to_pandas()
        uids = frame[frame["score"] >= threshold]["uid"]
        chosen.append(np.array([(int(u[:16], 16), int(u[16:], 16)) for u in uids], UID_DTYPE))
    array = np.concatenate(chosen)
    array.sort()
    return len(array)


def test_seconds_and_memory_of_selecting_30_percent(parts) -> None:
    k = int(ROWS * 0.3)
    start = time.monotonic()
    assert datacomps_recipe(sorted(parts.glob("datacomp/*")), k) > k
    plain = time.monotonic() - start
    start = time.monotonic()
    chosen = select_top_k(load_parts(sorted(parts.glob("ours/*"))), k, seed=0)
    ours = time.monotonic() - start
    assert len(chosen.uids) == k
    rss = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
    ratio = f"recipe {plain:.2f} s, ours {ours:.2f} s ({plain / ours:.1f}x)"
    print(f"\n{ROWS:,} rows, k = {k:,}: {ratio}, peak {rss:.2f} GiB")
    assert ours < plain
