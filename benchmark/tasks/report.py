"""``task=report``: all records of a results folder, on the terminal, as Markdown and as a page with charts."""

from pathlib import Path

from omegaconf import DictConfig

from benchmark.core.errors import UserError
from benchmark.core.paths import write_text
from benchmark.core.records import read_records
from benchmark.report.leaderboard_page import leaderboard_page
from benchmark.report.leaderboard_tables import LEGEND, leaderboard
from benchmark.report.table import to_markdown
from benchmark.report.terminal import print_tables
from benchmark.results.result import Result
from benchmark.studies.concreteness.coloured_captions import explanations_page
from benchmark.studies.concreteness.evaluation import ConcretenessEvaluation
from benchmark.studies.concreteness.explanation import Explanation
from benchmark.studies.concreteness.tables import concreteness_tables
from benchmark.studies.profile.profiling import Profile
from benchmark.studies.profile.tables import overall_tables
from benchmark.studies.text_spotting.evaluation import TextSpottingEvaluation
from benchmark.studies.text_spotting.tables import text_spotting_tables
from benchmark.tasks.output import print_result


def report(cfg: DictConfig) -> None:
    """Write ``leaderboard.html`` and ``.md``, and ``explained.html`` if captions were explained; print the paths."""
    folder = Path(cfg.results_dir)
    results = read_records(folder, Result)
    tables = leaderboard(results) + concreteness_tables(read_records(folder, ConcretenessEvaluation))
    tables += text_spotting_tables(read_records(folder, TextSpottingEvaluation))
    tables += [overall_tables(profile)[0] for profile in read_records(folder, Profile)]
    explanations = read_records(folder, Explanation)
    if not tables and not explanations:
        raise UserError(
            f"results_dir={folder} holds no results; run `python -m benchmark filter=random,clip` first"
        )
    if explanations:
        _write(folder / "explained.html", explanations_page(explanations))
    _write(folder / "leaderboard.html", leaderboard_page(results, tables))
    print_tables(tables)
    _write(folder / "leaderboard.md", to_markdown("Leaderboard", LEGEND, tables))


def _write(path: Path, text: str) -> None:
    write_text(path, text)
    print_result(str(path))
