from pathlib import Path

from benchmark.engine.local import LocalEngine
from benchmark.pool.pool import Pool
from benchmark.scoring.score_pool import score_pool
from benchmark.selection.top_k import select_top_k
from filters.no_filter import NoFilter
from filters.random import Random
from tests.pools import rows, write_pool


def test_it_keeps_the_random_filters_k(tmp_path: Path) -> None:
    pool = Pool("p", str(write_pool(tmp_path / "pool", [rows(5), rows(5, start=5)])))
    for seed in range(3):
        kept = [
            select_top_k(score_pool(pool, scorer, LocalEngine("cpu", 1)), 4, seed)
            for scorer in (NoFilter(), Random(seed))
        ]
        assert kept[0].sha256 == kept[1].sha256
        assert (kept[0].tied, kept[0].tied_kept) == (10, 4)
