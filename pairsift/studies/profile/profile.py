"""``task=profile``: how web-like a pool's captions are, and the text in its images, which captions may repeat."""

import logging
from pathlib import Path

from benchmark.core.errors import UserError
from benchmark.core.extras import require
from benchmark.core.paths import write_text
from benchmark.core.records import write_record
from benchmark.pool.pool import Pool
from benchmark.results.page.html_page import plain_page, table_html
from benchmark.results.report.table import Table
from benchmark.results.report.terminal import print_tables
from benchmark.run.config import build, resolved
from benchmark.run.job import Job
from benchmark.run.output import print_result
from pairsift.studies.profile.page import profile_page
from pairsift.studies.profile.pool_sample import PoolSample
from pairsift.studies.profile.profiling import profile_pool
from pairsift.studies.profile.tables import profile_tables
from pairsift.studies.profile.web_likeness.caption_profile import profile_captions
from pairsift.studies.profile.web_likeness.statistics import TooFewWordsError
from pairsift.studies.profile.web_likeness.tables import likeness_table
from pairsift.studies.published_figures import study_tables

log = logging.getLogger(__name__)


def profile(job: Job) -> None:
    """Profile a pool's captions, then its images unless `profile.images` is false; print the JSONs and the page."""
    samples, pool = job.cfg.profile.samples, job.pool
    if not job.cfg.profile.images:
        table, path = _captions(job)
        html = path.with_suffix(".html")
        write_text(html, plain_page(f"Profile of {pool.name}", [table_html(table)]))
        print_result(str(html))
        print_result(str(path))
        return
    if not pool.tars:
        raise UserError(f"pool {pool.name} has no tars; add profile.images=false to profile its captions")
    require("clusters")
    drawn = pool if samples is None else PoolSample(pool, samples, job.seed)
    tables = []
    try:
        table, path = _captions(job)
        print_result(str(path))
        tables.append(table)
    except TooFewWordsError as error:
        log.warning("profile: %s, so they are left out", error)
    _images(job, drawn, tables)


def _captions(job: Job) -> tuple[Table, Path]:
    """Measure `profile.captions` captions and show their table; return it and the path of the JSON."""
    settings = job.cfg.profile
    ratings = None if settings.ratings is None else Path(settings.ratings)
    of_captions = profile_captions(job.pool, settings.captions, ratings, job.seed)
    table = likeness_table(of_captions.pool, of_captions.likeness)
    print_tables([table])
    return table, write_record(job.results_dir, of_captions)


def _images(job: Job, pool: Pool, captions: list[Table]) -> None:
    """Measure the text in images, and show it; the page has the tables of the captions, too."""
    cfg = job.cfg
    models = build(cfg.ocr), resolved(cfg.ocr), resolved(cfg.models.clip)
    pool_profile = profile_pool(pool, *models, job.engine, cfg.profile.clusters, job.seed)
    path = write_record(job.results_dir, pool_profile)
    html = path.with_suffix(".html")
    write_text(html, profile_page(pool_profile, captions))
    print_tables(profile_tables(pool_profile) + [study_tables()["Parrot Captions", n] for n in "19"])
    print_result(str(html))
    print_result(str(path))
