"""``task=profile``: how web-like a pool's captions are, and the text in its images, which captions may repeat."""

import logging
from pathlib import Path

import hydra
from omegaconf import DictConfig

from benchmark.config import make_engine, make_pool, resolved
from benchmark.core.errors import UserError
from benchmark.core.extras import require
from benchmark.core.paths import write_text
from benchmark.core.records import write_record
from benchmark.pool.pool import Pool
from benchmark.report.html_page import page, table_html
from benchmark.report.table import Table
from benchmark.report.terminal import print_tables
from benchmark.studies.profile.page import profile_page
from benchmark.studies.profile.pool_sample import PoolSample
from benchmark.studies.profile.profiling import Tools, profile_pool
from benchmark.studies.profile.tables import profile_tables
from benchmark.studies.web_likeness.caption_profile import profile_captions
from benchmark.studies.web_likeness.statistics import TooFewWordsError
from benchmark.studies.web_likeness.tables import likeness_table
from benchmark.tasks.output import print_result
from benchmark.tasks.settings import positive_integer, positive_integer_or_null

log = logging.getLogger(__name__)


def profile(cfg: DictConfig) -> None:
    """Profile the captions of a pool, then its images unless `profile.images` is false.

    Shows the tables; prints the paths of the JSONs and of the page.
    """
    samples = positive_integer_or_null("profile.samples", cfg.profile.samples, "the whole pool")
    clusters = positive_integer("profile.clusters", cfg.profile.clusters)
    captions = positive_integer("profile.captions", cfg.profile.captions)
    if not isinstance(cfg.profile.images, bool):
        raise UserError(f"profile.images={cfg.profile.images} must be true or false")
    pool = make_pool(cfg)
    if not cfg.profile.images:
        table, path = _captions(cfg, pool, captions)
        html = path.with_suffix(".html")
        write_text(html, page(f"Profile of {pool.name}", [table_html(table)]))
        print_result(str(html))
        print_result(str(path))
        return
    require("clusters")
    drawn = pool if samples is None else PoolSample(pool, samples, int(cfg.seed))
    tables = []
    try:
        table, path = _captions(cfg, pool, captions)
        print_result(str(path))
        tables.append(table)
    except TooFewWordsError as error:
        log.warning("profile: %s, so they are left out", error)
    _images(cfg, drawn, clusters, tables)


def _captions(cfg: DictConfig, pool: Pool, count: int) -> tuple[Table, Path]:
    """Measure `count` captions and show their table; return it and the path of the JSON."""
    ratings = cfg.profile.ratings
    found = profile_captions(pool, count, None if ratings is None else Path(ratings), int(cfg.seed))
    table = likeness_table(found.pool, found.likeness)
    print_tables([table])
    return table, write_record(Path(cfg.results_dir), found)


def _images(cfg: DictConfig, pool: Pool, clusters: int, captions: list[Table]) -> None:
    """Measure the text in images, and show it; the page has the tables of the captions, too."""
    spotter = hydra.utils.instantiate(cfg.ocr, _convert_="all")
    tools = Tools(spotter, resolved(cfg.ocr), resolved(cfg.models.clip))
    pool_profile = profile_pool(pool, tools, make_engine(cfg), clusters=clusters, seed=int(cfg.seed))
    path = write_record(Path(cfg.results_dir), pool_profile)
    html = path.with_suffix(".html")
    write_text(html, profile_page(pool_profile, captions))
    print_tables(profile_tables(pool_profile))
    print_result(str(html))
    print_result(str(path))
