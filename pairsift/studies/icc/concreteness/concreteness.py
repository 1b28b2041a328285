"""``task=concreteness``: correlation of a filter's scores with human ratings, or an explanation of one score."""

import logging
from collections.abc import Iterable
from pathlib import Path

from benchmark.core.errors import UserError
from benchmark.core.records import read_records, write_record
from benchmark.results.provenance import library_versions
from benchmark.results.report.terminal import console, print_tables
from benchmark.run.config import build, filter_settings, resolved
from benchmark.run.job import Job
from benchmark.run.output import print_result
from filters.base import Filter
from pairsift.studies.icc.concreteness.evaluation import (
    ConcretenessEvaluation,
    check_needs,
    evaluate,
    fit,
    set_up,
)
from pairsift.studies.icc.concreteness.explanation import Explanation, contribution_table, leave_one_out
from pairsift.studies.icc.concreteness.rated_texts import RatedTexts, read_annotations, read_word_ratings
from pairsift.studies.icc.concreteness.tables import concreteness_tables
from pairsift.studies.icc.demo_captions import demo_captions
from pairsift.studies.published_figures import ICC, study_tables

log = logging.getLogger(__name__)
DEMO_CAPTIONS = 2000
NO_BENCHMARK = (
    "task=concreteness needs ratings: add task.annotations=FILE (data/caption_concreteness_annotations.csv of the"
    " repository moranyanuka/icc_code), task.ratings=FILE (the supplement of Brysbaert et al. 2014), or pool=demo"
)


def concreteness(job: Job) -> None:
    """Evaluate one filter on every benchmark given, or explain one caption; print the path of each JSON."""
    if job.cfg.task.explain is not None:
        explain(job)
        return
    for path in evaluate_on(job, load_benchmarks(job)):
        print_result(str(path))


def evaluate_on(job: Job, benchmarks: Iterable[RatedTexts]) -> list[Path]:
    """Evaluate the filter, show the tables of all evaluations, and return the paths of the new records."""
    scorer, folder = fitted_filter(job), job.results_dir
    name, config, paths = job.choices["filter"], resolved(filter_settings(job.cfg)), []
    for rated in benchmarks:
        log.info("concreteness: %s texts of %s", f"{len(rated.texts):,}", rated.source)
        evaluation = evaluate(scorer, rated, name=name, config=config, seed=job.seed)
        if evaluation.unscored:
            of = f"{evaluation.unscored} of {evaluation.count} texts"
            log.warning("concreteness: %s got no score and are left out", of)
        paths.append(write_record(folder, evaluation))
    tables = concreteness_tables(read_records(folder, ConcretenessEvaluation))
    of_paper = [number for number in "346" if any(f"(as Table {number})" in table.title for table in tables)]
    print_tables(tables + [study_tables()[ICC, number] for number in of_paper])
    return paths


def load_benchmarks(job: Job) -> list[RatedTexts]:
    """Read the files given, and draw captions of the demo's world if requested, or if no file is given and pool=demo.

    Raises `UserError` when that leaves nothing.
    """
    task, pool = job.cfg.task, job.cfg.pool
    benchmarks = []
    if task.ratings is not None:
        benchmarks.append(read_word_ratings(Path(task.ratings)))
    if task.annotations is not None:
        benchmarks.append(read_annotations(Path(task.annotations)))
    default = DEMO_CAPTIONS if not benchmarks and "demo" in pool else None
    count = task.demo or default
    if count is not None:
        if "demo" not in pool:
            raise UserError(f"task.demo={count} draws captions of the demo's world; add pool=demo")
        benchmarks.append(demo_captions(count, build(pool.demo).consistency))
    if not benchmarks:
        raise UserError(NO_BENCHMARK)
    return [rated.sample(task.sample, job.seed) for rated in benchmarks]


def explain(job: Job) -> None:
    """Show the contribution of each word to a caption's score; print the path of the JSON."""
    scorer = fitted_filter(job)
    caption = str(job.cfg.task.explain)
    score, words = leave_one_out(scorer, caption)
    name, config, versions = job.choices["filter"], resolved(filter_settings(job.cfg)), library_versions()
    explanation = Explanation(caption, name, config, scorer.key(), score, words, versions)
    console().print(contribution_table(explanation))
    print_result(str(write_record(job.results_dir, explanation)))


def fitted_filter(job: Job) -> Filter:
    """Return the filter, fitted to the pool if it needs that, with its models loaded."""
    check_needs(job.filter)
    fit(job.filter, lambda: job.pool, job.engine)
    set_up(job.filter, job.device)
    return job.filter
