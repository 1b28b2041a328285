"""``task=score``: score the pool with one filter, and nothing else."""

from omegaconf import DictConfig

from benchmark.core.batch import counts
from benchmark.run.choose import make_scores
from benchmark.run.config import make_engine, make_filter, make_pool
from benchmark.run.output import print_result
from benchmark.run.preflight import check_before_run
from benchmark.run.settings import shard_share
from benchmark.scoring.score_folder import score_folder
from benchmark.scoring.score_share import score_share


def score(cfg: DictConfig) -> None:
    """Score the pool; print the folder of the score parts."""
    check_before_run(cfg)
    pool, scorer = make_pool(cfg), make_filter(cfg)
    if share := shard_share(cfg):
        score_share(pool, scorer, make_engine(cfg), share)
        print_result(str(score_folder(pool, scorer)))
        return
    table = make_scores(cfg, pool, scorer, make_engine(cfg))
    dropped = counts(table.drops) or "none"
    print_result(f"scored {len(table):,} pairs in {table.seconds:,.1f} worker seconds; dropped: {dropped}")
    print_result(str(score_folder(pool, scorer)))
