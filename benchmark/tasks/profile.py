"""``task=profile``: text in a pool's images, how much of it captions repeat, and its effect on CLIP scores."""

from pathlib import Path

import hydra
from omegaconf import DictConfig

from benchmark.config import make_engine, make_pool, resolved
from benchmark.core.extras import require
from benchmark.core.paths import write_text
from benchmark.core.records import write_record
from benchmark.report.terminal import print_tables
from benchmark.studies.profile.page import profile_page
from benchmark.studies.profile.pool_sample import PoolSample
from benchmark.studies.profile.profiling import Tools, profile_pool
from benchmark.studies.profile.tables import profile_tables
from benchmark.tasks.output import print_result
from benchmark.tasks.settings import positive_integer, positive_integer_or_null


def profile(cfg: DictConfig) -> None:
    """Profile a sample of the pool, or all of it; show the tables; print the path of the page and of the JSON."""
    require("clusters")
    samples = positive_integer_or_null("profile.samples", cfg.profile.samples, "the whole pool")
    clusters = positive_integer("profile.clusters", cfg.profile.clusters)
    seed = int(cfg.seed)
    pool = make_pool(cfg)
    if samples is not None:
        pool = PoolSample(pool, samples, seed)
    spotter = hydra.utils.instantiate(cfg.ocr, _convert_="all")
    tools = Tools(spotter, resolved(cfg.ocr), resolved(cfg.models.clip))
    pool_profile = profile_pool(pool, tools, make_engine(cfg), clusters=clusters, seed=seed)
    path = write_record(Path(cfg.results_dir), pool_profile)
    page = path.with_suffix(".html")
    write_text(page, profile_page(pool_profile))
    print_tables(profile_tables(pool_profile))
    print_result(str(page))
    print_result(str(path))
