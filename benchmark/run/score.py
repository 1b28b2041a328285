"""``task=score``: score the pool with one filter, and nothing else."""

from omegaconf import DictConfig

from benchmark.core.batch import counts
from benchmark.run.choose import make_scores
from benchmark.run.config import make_engine, make_filter, make_pool
from benchmark.run.output import print_result
from benchmark.run.preflight import check_before_run
from benchmark.run.settings import shard_part
from benchmark.scoring.score_folder import score_folder
from benchmark.scoring.work_ahead import score_part


def score(cfg: DictConfig) -> None:
    """Score the pool; print the folder of the score parts."""
    check_before_run(cfg)
    pool, scorer = make_pool(cfg), make_filter(cfg)
    if part := shard_part(cfg):
        score_part(pool, scorer, make_engine(cfg), part)
        print_result(str(score_folder(pool, scorer)))
        return
    table = make_scores(cfg, pool, scorer, make_engine(cfg))
    dropped = counts(table.drops) or "none"
    print_result(f"scored {len(table):,} pairs in {table.cost.clock:,.1f} worker seconds; dropped: {dropped}")
    print_result(str(score_folder(pool, scorer)))
