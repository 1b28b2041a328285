"""``task=profile``: how web-like a pool's captions are, and the text in its images, which captions may repeat."""

import logging
from pathlib import Path

import hydra
from omegaconf import DictConfig

from benchmark.core.extras import require
from benchmark.core.paths import write_text
from benchmark.core.records import write_record
from benchmark.pool.pool import Pool
from benchmark.results.page.html_page import plain_page, table_html
from benchmark.results.report.table import Table
from benchmark.results.report.terminal import print_tables
from benchmark.run.config import make_engine, make_pool, resolved
from benchmark.run.output import print_result
from benchmark.studies.profile.page import profile_page
from benchmark.studies.profile.pool_sample import PoolSample
from benchmark.studies.profile.profiling import Tools, profile_pool
from benchmark.studies.profile.tables import profile_tables
from benchmark.studies.web_likeness.caption_profile import profile_captions
from benchmark.studies.web_likeness.statistics import TooFewWordsError
from benchmark.studies.web_likeness.tables import likeness_table

log = logging.getLogger(__name__)


def profile(cfg: DictConfig) -> None:
    """Profile the captions of a pool, then its images unless `profile.images` is false.

    Shows the tables; prints the paths of the JSONs and of the page.
    """
    samples, pool = cfg.profile.samples, make_pool(cfg)
    if not cfg.profile.images:
        table, path = _captions(cfg, pool)
        html = path.with_suffix(".html")
        write_text(html, plain_page(f"Profile of {pool.name}", [table_html(table)]))
        print_result(str(html))
        print_result(str(path))
        return
    require("clusters")
    drawn = pool if samples is None else PoolSample(pool, samples, int(cfg.seed))
    tables = []
    try:
        table, path = _captions(cfg, pool)
        print_result(str(path))
        tables.append(table)
    except TooFewWordsError as error:
        log.warning("profile: %s, so they are left out", error)
    _images(cfg, drawn, tables)


def _captions(cfg: DictConfig, pool: Pool) -> tuple[Table, Path]:
    """Measure `profile.captions` captions and show their table; return it and the path of the JSON."""
    ratings = cfg.profile.ratings
    found = profile_captions(
        pool, cfg.profile.captions, None if ratings is None else Path(ratings), int(cfg.seed)
    )
    table = likeness_table(found.pool, found.likeness)
    print_tables([table])
    return table, write_record(Path(cfg.results_dir), found)


def _images(cfg: DictConfig, pool: Pool, captions: list[Table]) -> None:
    """Measure the text in images, and show it; the page has the tables of the captions, too."""
    spotter = hydra.utils.instantiate(cfg.ocr, _convert_="all")
    tools = Tools(spotter, resolved(cfg.ocr), resolved(cfg.models.clip))
    pool_profile = profile_pool(
        pool, tools, make_engine(cfg), clusters=cfg.profile.clusters, seed=int(cfg.seed)
    )
    path = write_record(Path(cfg.results_dir), pool_profile)
    html = path.with_suffix(".html")
    write_text(html, profile_page(pool_profile, captions))
    print_tables(profile_tables(pool_profile))
    print_result(str(html))
    print_result(str(path))
