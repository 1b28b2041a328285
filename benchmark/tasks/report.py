"""``task=report``: the leaderboard of all results, on the terminal, as Markdown and as a page with charts."""

import logging
from pathlib import Path
from typing import Literal

from omegaconf import DictConfig
from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.table import Table as RichTable
from rich.text import Text

from benchmark.core.errors import UserError
from benchmark.core.paths import write_text
from benchmark.report.leaderboard_page import to_html
from benchmark.report.leaderboard_tables import Table, leaderboard, to_markdown
from benchmark.results.result import Result, read_results
from benchmark.studies.concreteness.coloured_captions import to_html as explained_page
from benchmark.studies.concreteness.evaluation import read_evaluations
from benchmark.studies.concreteness.explanation import read_explanations
from benchmark.studies.concreteness.tables import concreteness_tables
from benchmark.studies.profile.profiling import read_profiles
from benchmark.studies.profile.tables import overall_tables
from benchmark.studies.text_spotting import evaluation as text_spotting
from benchmark.studies.text_spotting.tables import text_spotting_tables
from benchmark.tasks.output import print_result

log = logging.getLogger(__name__)
WIDTH = 160  # columns of a table that is written to a file


def report(cfg: DictConfig) -> None:
    """Write ``results/leaderboard.html`` and ``.md``, show the tables, print the paths; explained captions apart."""
    folder = Path(cfg.results_dir)
    results = read_results(folder)
    tables = leaderboard(results) + concreteness_tables(read_evaluations(folder))
    tables += text_spotting_tables(text_spotting.read_evaluations(folder))
    tables += [overall_tables(profile)[0] for profile in read_profiles(folder)]
    explained = read_explanations(folder)
    if not tables and not explained:
        raise UserError(f"no results in {folder}; run `python -m benchmark filter=random,clip` first")
    if explained:
        _write_page(folder / "explained.html", explained_page(explained))
    _write_page(folder / "leaderboard.html", to_html(results, tables))
    path = folder / "leaderboard.md"
    write_text(path, to_markdown(tables))
    show(tables)
    print_result(str(path))


def _write_page(path: Path, text: str) -> None:
    write_text(path, text)
    print_result(str(path))


def summary(result: Result) -> None:
    """Show one run's metrics on stderr."""
    show(leaderboard([result]), stderr=True)


def show(tables: list[Table], *, stderr: bool = False) -> None:
    """Draw tables, as wide as the terminal, or wide enough where there is none; a note is told once."""
    target = Console(stderr=stderr)
    if not target.is_terminal:
        target = Console(stderr=stderr, width=WIDTH)
    told: set[str] = set()
    for table in tables:
        drawn = RichTable(
            title=Text(table.title),
            title_justify="left",
            box=SIMPLE_HEAD,
            padding=(0, 1),
        )
        for number, name in enumerate(table.header):
            cells = [row[number] for row in table.rows]
            # Headers and names may be folded between words, numbers may not.
            words = [*name.split(), *(" ".join(cells).split() if number == 0 else cells)]
            justify: Literal["left", "right"] = "left" if number == 0 else "right"
            drawn.add_column(Text(name), justify=justify, min_width=max(map(len, words)), overflow="fold")
        for row in table.rows:
            drawn.add_row(*(_styled(cell) for cell in row))
        target.print(drawn)
        for note in table.notes:
            if note not in told:
                target.print(Text(note))
        told.update(table.notes)


def _styled(cell: str) -> Text:
    return Text(cell.strip("*"), style="bold") if cell.startswith("**") else Text(cell)
