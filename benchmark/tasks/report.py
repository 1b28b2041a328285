"""``task=report``: the leaderboard of all results, on the terminal and as Markdown; explained captions as HTML."""

import logging
from pathlib import Path

from omegaconf import DictConfig
from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.table import Table as RichTable
from rich.text import Text

from benchmark.concreteness.coloured import to_html
from benchmark.concreteness.evaluation import read_evaluations
from benchmark.concreteness.explanation import read_explanations
from benchmark.concreteness.tables import concreteness_tables
from benchmark.errors import UserError
from benchmark.paths import write_text
from benchmark.profile.profiling import read_profiles
from benchmark.profile.tables import overall_tables
from benchmark.progress import console
from benchmark.report import Table, leaderboard, to_markdown
from benchmark.results import Result, read_results
from benchmark.tasks.output import say
from benchmark.text_spotting import evaluation as text_spotting
from benchmark.text_spotting.tables import text_spotting_tables

log = logging.getLogger(__name__)


def report(cfg: DictConfig) -> None:
    """Write ``results/leaderboard.md``, show it, and print its path; explained captions go to a page of their own."""
    folder = Path(cfg.results_dir)
    tables = leaderboard(read_results(folder)) + concreteness_tables(read_evaluations(folder))
    tables += text_spotting_tables(text_spotting.read_evaluations(folder))
    tables += [overall_tables(profile)[0] for profile in read_profiles(folder)]
    explained = read_explanations(folder)
    if not tables and not explained:
        raise UserError(f"no results in {folder}; run `python -m benchmark filter=random,clip` first")
    if explained:
        page = folder / "explained.html"
        write_text(page, to_html(explained))
        say(str(page))
    path = folder / "leaderboard.md"
    write_text(path, to_markdown(tables))
    target = Console()
    show(tables, target if target.is_terminal else Console(width=120))
    say(str(path))


def summary(result: Result) -> None:
    """Show one run's metrics on stderr."""
    show(leaderboard([result]), console)


def show(tables: list[Table], target: Console) -> None:
    """Draw tables on a terminal."""
    for table in tables:
        drawn = RichTable(
            title=Text(table.title),
            title_justify="left",
            caption_justify="left",
            box=SIMPLE_HEAD,
            padding=(0, 1),
        )
        drawn.caption = Text("\n".join(table.notes)) if table.notes else None
        for number, name in enumerate(table.header):
            words = [*name.split(), *(row[number] for row in table.rows)]
            widest = max(
                len(word) for word in words
            )  # a header may be folded between words, a number may not
            drawn.add_column(
                Text(name), justify="left" if number == 0 else "right", min_width=widest, overflow="fold"
            )
        for row in table.rows:
            drawn.add_row(*(_styled(cell) for cell in row))
        target.print(drawn)


def _styled(cell: str) -> Text:
    return Text(cell.strip("*"), style="bold") if cell.startswith("**") else Text(cell)
