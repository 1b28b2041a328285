from pathlib import Path

import numpy as np
import pytest

from benchmark.core import disk_buckets
from benchmark.core.disk_buckets import put_in_order


@pytest.mark.parametrize(("bucket_bytes", "count"), [(1, 101), (100, 101), (1 << 20, 101), (100, 0)])
def test_rows_that_come_in_any_order_are_put_in_order(
    bucket_bytes: int, count: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(disk_buckets, "BUCKET_BYTES", bucket_bytes)
    rows = np.random.default_rng(0).random((count, 3)).astype(np.float16)
    parts = np.split(np.random.default_rng(1).permutation(count), [10, 10, 60])
    array = np.zeros_like(rows)
    put_in_order(((positions, rows[positions]) for positions in parts), array, tmp_path)
    assert (array == rows).all()
    assert list(tmp_path.iterdir()) == []
