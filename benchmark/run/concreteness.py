"""``task=concreteness``: correlation of a filter's scores with human ratings, or an explanation of one score."""

import logging
from pathlib import Path

import hydra
from omegaconf import DictConfig

from benchmark.core.devices import resolve_device
from benchmark.core.errors import UserError
from benchmark.core.records import read_records, write_record
from benchmark.demo.rated_captions import demo_captions
from benchmark.results.provenance import library_versions
from benchmark.results.report.terminal import console, print_tables
from benchmark.run.config import choice, filter_settings, make_engine, make_filter, make_pool, resolved
from benchmark.run.output import print_result
from benchmark.run.preflight import check_before_run
from benchmark.studies.concreteness.coloured_captions import coloured_line, contribution_table
from benchmark.studies.concreteness.evaluation import ConcretenessEvaluation, check_needs, evaluate, fit
from benchmark.studies.concreteness.explanation import Explanation, leave_one_out
from benchmark.studies.concreteness.rated_texts import (
    RatedTexts,
    read_annotations,
    read_word_ratings,
)
from benchmark.studies.concreteness.tables import concreteness_tables
from filters.base import Filter

log = logging.getLogger(__name__)
DEMO_CAPTIONS = 2000
NO_BENCHMARK = (
    "task=concreteness needs ratings: add task.annotations=FILE (data/caption_concreteness_annotations.csv of the"
    " repository moranyanuka/icc_code), task.ratings=FILE (the supplement of Brysbaert et al. 2014), or pool=demo"
)


def concreteness(cfg: DictConfig) -> None:
    """Evaluate one filter on every benchmark given, or explain one caption; print the path of each JSON."""
    check_needs(make_filter(cfg), choice(cfg, "filter"))
    check_before_run(cfg)
    if cfg.explain is not None:
        explain(cfg)
        return
    benchmarks = load_benchmarks(cfg)
    scorer, folder = _scorer(cfg), Path(cfg.results_dir)
    paths = []
    for rated in benchmarks:
        log.info("concreteness: %s texts of %s", f"{len(rated.texts):,}", rated.source)
        evaluation = evaluate(
            scorer,
            rated,
            name=choice(cfg, "filter"),
            config=resolved(filter_settings(cfg)),
            seed=int(cfg.seed),
        )
        if evaluation.unscored:
            log.warning(
                "concreteness: %d of %d texts got no score and are left out",
                evaluation.unscored,
                evaluation.count,
            )
        paths.append(write_record(folder, evaluation))
    print_tables(concreteness_tables(read_records(folder, ConcretenessEvaluation)))
    for path in paths:
        print_result(str(path))


def load_benchmarks(cfg: DictConfig) -> list[RatedTexts]:
    """Read the files given, and draw captions of the demo's world if requested, or if no file is given and pool=demo.

    Raises `UserError` when that leaves nothing.
    """
    task, seed = cfg.task, int(cfg.seed)
    benchmarks = []
    if task.ratings is not None:
        benchmarks.append(read_word_ratings(Path(task.ratings)))
    if task.annotations is not None:
        benchmarks.append(read_annotations(Path(task.annotations)))
    default = DEMO_CAPTIONS if not benchmarks and "demo" in cfg.pool else None
    count = task.demo or default
    if count is not None:
        if "demo" not in cfg.pool:
            raise UserError(f"task.demo={count} draws captions of the demo's world; add pool=demo")
        demo = hydra.utils.instantiate(cfg.pool.demo, _convert_="all")
        benchmarks.append(demo_captions(count, demo.consistency))
    if not benchmarks:
        raise UserError(NO_BENCHMARK)
    return [rated.sample(task.sample, seed) for rated in benchmarks]


def explain(cfg: DictConfig) -> None:
    """Show the contribution of each word to a caption's score; print the path of the JSON."""
    scorer = _scorer(cfg)
    caption = str(cfg.explain)
    score, words = leave_one_out(scorer, caption)
    explanation = Explanation(
        caption,
        choice(cfg, "filter"),
        resolved(filter_settings(cfg)),
        scorer.key(),
        score,
        words,
        library_versions(),
    )
    terminal = console()
    terminal.print(coloured_line(explanation))
    terminal.print(contribution_table(explanation))
    print_result(str(write_record(Path(cfg.results_dir), explanation)))


def _scorer(cfg: DictConfig) -> Filter:
    scorer = make_filter(cfg)
    fit(scorer, lambda: make_pool(cfg), make_engine(cfg))
    scorer.setup(resolve_device(cfg.device))
    return scorer
