"""What a selection keeps of each kind of noise."""

from pathlib import Path

import numpy as np

from benchmark.core.uids import encode_uids, make_uid
from benchmark.pool.pool import Pool
from benchmark.results.gallery import planted_kinds
from benchmark.run.open_samples import kept_by_noise
from benchmark.selection.selection import Selection
from tests.pools import rows, write_metadata


def test_draws_are_counted_over_all_epochs(tmp_path: Path) -> None:
    write_metadata(tmp_path / "a.parquet", rows(3), noise=["concrete", "news", "concrete"])
    write_metadata(tmp_path / "b.parquet", rows(2, start=3), noise=["person", "abstract"])
    pool = Pool("p", str(tmp_path), hidden=["noise"])
    uids = encode_uids([row.uid for row in rows(5)])
    epochs = tuple(np.sort(uids[numbers]) for numbers in ([0, 1, 2], [0, 1, 3]))
    selection = Selection(epochs, 0.0, 5, 1, 1, {})
    assert kept_by_noise(pool, selection) == {"concrete": 3, "news": 2, "person": 1}
    assert kept_by_noise(Pool("p", str(tmp_path)), selection) == {}
    assert planted_kinds(pool, uids[[3, 0, 3]]) == ["person", "concrete", "person"]
    assert planted_kinds(Pool("p", str(tmp_path)), uids[:2]) == ["", ""]
    nowhere = Selection((encode_uids([make_uid("", "nowhere")]),), 0.0, 5, 1, 1, {})
    assert kept_by_noise(pool, nowhere) == {}
