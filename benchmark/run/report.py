"""``task=report``: all records of results folders, on the terminal, as Markdown, as a page and as data."""

import logging
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from importlib.util import find_spec
from pathlib import Path

from omegaconf import OmegaConf

from benchmark.core.errors import UserError
from benchmark.core.output_folder import local_copy
from benchmark.core.paths import REFERENCE_RESULTS, write_text
from benchmark.core.records import warn_of
from benchmark.results.page.leaderboard_page import leaderboard_page
from benchmark.results.report.advice import Advice
from benchmark.results.report.advice_tables import advice_tables
from benchmark.results.report.certainty import RunFolders
from benchmark.results.report.frame import choose_metrics, only_metrics
from benchmark.results.report.leaderboard import (
    REFERENCE,
    Leaderboard,
    leaderboards,
    of_protocol,
    report_title,
)
from benchmark.results.report.leaderboard_tables import (
    LEGEND,
    NO_ADDITIONS,
    Additions,
    leaderboard,
    size_table,
    summary_board,
    summary_table,
)
from benchmark.results.report.report_data import leaderboards_csv, leaderboards_json
from benchmark.results.report.run_tables import evaluation_tables
from benchmark.results.report.table import Table, plain, publish, to_markdown
from benchmark.results.report.terminal import print_tables
from benchmark.results.result import Evaluation, Result
from benchmark.results.results_folders import ResultsFolders, read_runs
from benchmark.run.config import locate
from benchmark.run.job import Job
from benchmark.run.output import print_result

log = logging.getLogger(__name__)


def report(job: Job) -> None:
    """Write ``report.html``, ``.csv``, ``.json`` and ``.md``, and ``explained.html`` if captions were explained."""
    with ExitStack() as copies:
        others = [copies.enter_context(local_copy(str(name))) for name in job.cfg.task.folders]
        for folder in others:
            if not folder.is_dir():
                raise UserError(f"task.folders: {folder} must be a folder with results")
        _report(job, [job.results_dir, *others])


def _report(job: Job, paths: Sequence[Path]) -> None:
    """Write the report on the results in the folders `paths` to the first of them."""
    task = job.cfg.task
    source = ResultsFolders(paths)
    runs = source.read(Result)
    results, evaluations = list(runs.values()), list(source.read(Evaluation).values())
    names, chosen = _metric_names(job), None
    if names is not None and (results or evaluations):
        chosen = choose_metrics(names, [*results, *evaluations])
        results = [only_metrics(result, chosen) for result in results]
        evaluations = [only_metrics(evaluation, chosen) for evaluation in evaluations]
    boards = leaderboards(results)
    shipped = [run if chosen is None else only_metrics(run, chosen) for run in _shipped_runs(boards)]
    places = {run.run_id: REFERENCE_RESULTS / run.run_id for run in shipped}
    folders = RunFolders(places | {run.run_id: path.parent / run.run_id for path, run in runs.items()})
    additions = _additions(task.additions)
    of_boards = leaderboard(results, folders, shipped, additions)
    others = evaluation_tables(evaluations) + additions.of_records(source)
    advice = [table for answer in source.read(Advice).values() for table in advice_tables(answer)]
    whole = [run for run in results if not run.protocol.is_quick_try]
    of_runs, pages = additions.of_runs(whole, folders), additions.pages(source)
    tables = of_boards + [table for named in of_runs.values() for table in named] + others
    left_out = list(source.left_out.values())
    warn_of(left_out)
    if not tables and not pages and not advice:
        named = ", ".join(map(str, paths))
        readable = " that can be read" if left_out else ""
        raise UserError(
            f"results_dir={named} holds no results{readable}; run `python -m benchmark filter=random,clip` first"
        )
    for name, page in pages.items():
        _write(paths[0] / name, page)
    summaries = [summary_table(board, folders, boards, shipped) for board in boards]
    print_tables((tables if task.full else summaries + others) + advice)
    # Not printed: the papers' figures would stand below one's own by the screenful.
    tables += additions.references(chosen) if results else []
    if left_out:
        rows = [plain(str(file.path), file.reason) for file in left_out]
        tables.append(Table("Left out", ["file", "reason"], rows))
    page = leaderboard_page(results, folders, tables[len(of_boards) :], shipped, advice)
    _write(paths[0] / "report.html", page)
    if task.publish:
        _publish([Path(name) for name in task.publish], boards, of_runs, folders)
    _write(paths[0] / "report.csv", leaderboards_csv(boards))
    _write(paths[0] / "report.json", leaderboards_json(boards, left_out))
    _write(paths[0] / "report.md", to_markdown(report_title(boards), LEGEND, tables + advice))


def _additions(name: str | None) -> Additions:
    """Return the additions that the class `name` makes; none for None, or if its package is not installed.

    Raises `UserError` if the package has no such class.
    """
    if name is None:
        return NO_ADDITIONS
    if find_spec(name.partition(".")[0]) is None:
        log.warning("report: task.additions=%s is left out, as its package is not installed", name)
        return NO_ADDITIONS
    made = locate(f"task.additions={name}", name)()
    if not isinstance(made, Additions):
        raise UserError(f"task.additions={name} must be a subclass of {Additions.__module__}.Additions")
    return made


def _shipped_runs(boards: Sequence[Leaderboard]) -> list[Result]:
    """Return the checkout's reference runs of filters that lack here.

    That is random selection, and if no two filters compete in a protocol, all filters.
    """
    lacking = []
    for board in boards:
        own, few = {run.filter for run in board.runs}, sum(entry.competes for entry in board.entries) < 2
        if few or REFERENCE not in own:
            lacking.append((board.protocol, own, few))
    committed = read_runs(REFERENCE_RESULTS) if lacking else []
    return [
        run
        for protocol, own, few in lacking
        for run in of_protocol(committed, protocol)
        if run.filter not in own and (few or run.filter == REFERENCE)
    ]


def _metric_names(job: Job) -> list[str] | None:
    """Return the names that ``task.columns=`` lists; None for all metrics."""
    if job.choices.get("metrics") != "default":  # a list of configs has no name
        columns = ",".join(map(str, job.cfg.metrics))
        raise UserError(f"metrics= says what a run computes; for columns write task.columns=[{columns}]")
    columns = job.cfg.task.columns
    if columns is None:
        return None
    return [str(name) for name in columns] if OmegaConf.is_list(columns) else [str(columns)]


def _publish(
    files: Sequence[Path],
    boards: Sequence[Leaderboard],
    of_runs: Mapping[str, Sequence[Table]],
    folders: RunFolders,
) -> None:
    """Put the summary, the sizes and the first of each kind of added tables into Markdown files."""
    board = summary_board(boards)
    tables = {"leaderboard": summary_table(board, folders, boards)}
    tables["sizes"] = size_table(board, boards)
    tables |= {name: named[0] for name, named in of_runs.items() if named}
    for file in files:
        if not file.is_file():
            raise UserError(f"task.publish: {file} does not exist; give Markdown files with markers")
        _write(file, publish(file.read_text(encoding="utf-8"), tables, str(file)))


def _write(path: Path, text: str) -> None:
    write_text(path, text)
    print_result(str(path))
