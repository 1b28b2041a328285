from pathlib import Path

import numpy as np
import pytest

from benchmark.core import disk_buckets
from benchmark.core.disk_buckets import put_in_order


@pytest.mark.parametrize("bucket_bytes", [1, 100, 1 << 20])
def test_rows_that_come_in_any_order_are_put_in_order(
    bucket_bytes: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(disk_buckets, "BUCKET_BYTES", bucket_bytes)
    rows = np.random.default_rng(0).random((101, 3)).astype(np.float16)
    parts = np.split(np.random.default_rng(1).permutation(101), [10, 10, 60])
    array = np.zeros_like(rows)
    put_in_order(((positions, rows[positions]) for positions in parts), array, tmp_path)
    assert (array == rows).all()
    assert list(tmp_path.iterdir()) == []


def test_nothing_is_put_in_order(tmp_path: Path) -> None:
    put_in_order([], np.zeros((0, 3)), tmp_path)
