"""``task=report``: all records of a results folder, on the terminal, as Markdown and as a page with charts."""

from collections.abc import Sequence
from pathlib import Path

from omegaconf import DictConfig

from benchmark.core.errors import UserError
from benchmark.core.paths import write_text
from benchmark.core.records import read_records
from benchmark.report.evaluation_tables import evaluation_tables
from benchmark.report.leaderboard_tables import LEGEND, leaderboard
from benchmark.report.page.page import leaderboard_page
from benchmark.report.paper_findings import findings_tables
from benchmark.report.summary import publish, summary_entries, summary_picture, summary_table
from benchmark.report.table import to_markdown
from benchmark.report.terminal import print_tables
from benchmark.results.evaluation import Evaluation
from benchmark.results.result import Result
from benchmark.studies.concreteness.coloured_captions import explanations_page
from benchmark.studies.concreteness.evaluation import ConcretenessEvaluation
from benchmark.studies.concreteness.explanation import Explanation
from benchmark.studies.concreteness.tables import concreteness_tables
from benchmark.studies.profile.profiling import Profile
from benchmark.studies.profile.tables import overall_tables
from benchmark.studies.text_spotting.evaluation import TextSpottingEvaluation
from benchmark.studies.text_spotting.tables import text_spotting_tables
from benchmark.studies.web_likeness.caption_profile import CaptionProfile
from benchmark.studies.web_likeness.tables import likeness_table
from benchmark.tasks.output import print_result


def report(cfg: DictConfig) -> None:
    """Write ``report.md`` and ``.html``, and ``explained.html`` if captions were explained; print the paths."""
    folder = Path(cfg.results_dir)
    results = read_records(folder, Result)
    tables = (
        leaderboard(results) + findings_tables(results) + evaluation_tables(read_records(folder, Evaluation))
    )
    tables += concreteness_tables(read_records(folder, ConcretenessEvaluation))
    tables += text_spotting_tables(read_records(folder, TextSpottingEvaluation))
    tables += [likeness_table(found.pool, found.likeness) for found in read_records(folder, CaptionProfile)]
    tables += [overall_tables(profile)[0] for profile in read_records(folder, Profile)]
    explanations = read_records(folder, Explanation)
    if not tables and not explanations:
        raise UserError(
            f"results_dir={folder} holds no results; run `python -m benchmark filter=random,clip` first"
        )
    if explanations:
        _write(folder / "explained.html", explanations_page(explanations))
    print_tables(tables)
    if cfg.task.publish or cfg.task.picture is not None:
        _publish([Path(name) for name in cfg.task.publish], cfg.task.picture, results)
    _write(folder / "report.md", to_markdown("Leaderboard", LEGEND, tables))
    folders = {result.run_id: folder / result.run_id for result in results}
    _write(folder / "report.html", leaderboard_page(results, folders, tables))


def _publish(files: Sequence[Path], image: str | None, results: Sequence[Result]) -> None:
    """Put the summary table into Markdown files, and write the picture."""
    entries = summary_entries(results)
    for file in files:
        if not file.is_file():
            raise UserError(f"task.publish: {file} does not exist; give Markdown files with the two markers")
        _write(file, publish(file.read_text(encoding="utf-8"), summary_table(entries), str(file)))
    if image is not None:
        _write(Path(image), summary_picture(entries))


def _write(path: Path, text: str) -> None:
    write_text(path, text)
    print_result(str(path))
