from pathlib import Path

import torch

from benchmark.core.uids import decode_uids
from benchmark.engine.local import LocalEngine
from benchmark.pool.pool import Pool
from benchmark.scoring.score_pool import score_pool
from benchmark.selection.top_k import select_top_k
from filters.no_filter import NoFilter
from tests.pools import rows, write_pool


def test_the_smallest_uids_are_kept(tmp_path: Path) -> None:
    pool = Pool("p", str(write_pool(tmp_path / "pool", [rows(5), rows(5, start=5)])))
    made = NoFilter()
    made.setup(torch.device("cpu"))
    table = score_pool(pool, made, LocalEngine("cpu", 1))
    assert decode_uids(select_top_k(table, 4).uids) == sorted(row.uid for row in rows(10))[:4]
