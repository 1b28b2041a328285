"""``task=concreteness``: how a filter's scores follow people's ratings, or why one caption gets its score."""

import logging
from pathlib import Path

import hydra
from omegaconf import DictConfig
from rich.console import Console

from benchmark.config import choice, make_engine, make_filter, make_pool, resolved
from benchmark.core.devices import resolve_device
from benchmark.core.errors import UserError
from benchmark.demo.rated_captions import demo_captions
from benchmark.results.result import library_versions
from benchmark.studies.concreteness.coloured_captions import to_line, to_table
from benchmark.studies.concreteness.evaluation import (
    check_needs,
    evaluate,
    fit,
    read_evaluations,
    write_evaluation,
)
from benchmark.studies.concreteness.explanation import Explanation, leave_one_out, write_explanation
from benchmark.studies.concreteness.rated_texts import (
    RatedTexts,
    read_annotations,
    read_word_ratings,
)
from benchmark.studies.concreteness.tables import concreteness_tables
from benchmark.tasks.output import print_result
from benchmark.tasks.report import show
from filters.base import Filter

log = logging.getLogger(__name__)
DEMO_CAPTIONS = 2000
NOTHING_GIVEN = (
    "task=concreteness needs ratings: add task.annotations=FILE (data/caption_concreteness_annotations.csv of the"
    " repository moranyanuka/icc_code), task.ratings=FILE (the supplement of Brysbaert et al. 2014), or pool=demo"
)


def concreteness(cfg: DictConfig) -> None:
    """Judge one filter on every benchmark that is given, or explain one caption; print the path of each JSON."""
    if cfg.explain is not None:
        explain(cfg)
        return
    benchmarks = load_benchmarks(cfg)
    scorer, folder = _scorer(cfg), Path(cfg.results_dir)
    paths = []
    for rated in benchmarks:
        log.info("concreteness: %s texts of %s", f"{len(rated.texts):,}", rated.source)
        done = evaluate(
            scorer, rated, name=choice(cfg, "filter"), config=resolved(cfg.filter), seed=int(cfg.seed)
        )
        if done.unscored:
            log.warning(
                "concreteness: %d of %d texts got no score and are left out", done.unscored, done.count
            )
        paths.append(write_evaluation(folder, done))
    show(concreteness_tables(read_evaluations(folder)))
    for path in paths:
        print_result(str(path))


def load_benchmarks(cfg: DictConfig) -> list[RatedTexts]:
    """Read the files that are given, and draw the demo's captions if they are asked for or nothing else is."""
    task, seed = cfg.task, int(cfg.seed)
    found = []
    if task.ratings is not None:
        found.append(read_word_ratings(Path(task.ratings)))
    if task.annotations is not None:
        found.append(read_annotations(Path(task.annotations)))
    count = task.demo or (DEMO_CAPTIONS if not found and "demo" in cfg.pool else 0)
    if count:
        if "demo" not in cfg.pool:
            raise UserError("task.demo draws captions of the demo's world; add pool=demo")
        demo = hydra.utils.instantiate(cfg.pool.demo, _convert_="all")
        found.append(demo_captions(int(count), demo.seed, demo.shares))
    if not found:
        raise UserError(NOTHING_GIVEN)
    return [rated.sample(task.sample, seed) for rated in found]


def explain(cfg: DictConfig) -> None:
    """Show what each word of a caption adds to its score; print the path of the JSON."""
    scorer = _scorer(cfg)
    caption = str(cfg.explain)
    score, words = leave_one_out(scorer, caption)
    explained = Explanation(
        caption,
        choice(cfg, "filter"),
        resolved(cfg.filter),
        scorer.key(),
        score,
        words,
        library_versions(),
    )
    console = _console()
    console.print(to_line(explained))
    console.print(to_table(explained))
    print_result(str(write_explanation(Path(cfg.results_dir), explained)))


def _scorer(cfg: DictConfig) -> Filter:
    scorer = make_filter(cfg)
    check_needs(scorer, choice(cfg, "filter"))
    fit(scorer, lambda: make_pool(cfg), make_engine(cfg))
    scorer.setup(resolve_device(cfg.device))
    return scorer


def _console() -> Console:
    target = Console()
    return target if target.is_terminal else Console(width=160)
