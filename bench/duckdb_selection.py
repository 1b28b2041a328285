"""Selection from score parts by DuckDB, as its users would write it."""

import duckdb
import numpy as np

from benchmark.core.uids import UID_DTYPE


def select(folder: str, k: int) -> None:
    """Fetch the uids of the k highest scores, with ties in any order, and sort them like a subset file."""
    query = f"SELECT uid_high, uid_low FROM '{folder}/*.parquet' ORDER BY score DESC LIMIT {k}"
    words = duckdb.connect().execute(query).fetchnumpy()
    uids = np.empty(k, UID_DTYPE)
    uids["f0"], uids["f1"] = words["uid_high"], words["uid_low"]
    assert len(uids[np.argsort(uids["f0"])]) == k
