"""``task=report``: all records of results folders, on the terminal, as Markdown, as a page and as data."""

from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path

from omegaconf import OmegaConf

from benchmark.core.errors import UserError
from benchmark.core.output_folder import local_copy
from benchmark.core.paths import REFERENCE_RESULTS, write_text
from benchmark.core.records import warn_of
from benchmark.results.page.leaderboard_page import leaderboard_page
from benchmark.results.report.certainty import RunFolders
from benchmark.results.report.columns import choose_metrics, evaluations_of, only_metrics
from benchmark.results.report.findings import findings_tables, rank_agreement_tables
from benchmark.results.report.leaderboard import REFERENCE, Leaderboard, leaderboards, report_title
from benchmark.results.report.leaderboard_tables import LEGEND, leaderboard
from benchmark.results.report.published_figures import paper_tables
from benchmark.results.report.report_data import leaderboards_csv, leaderboards_json
from benchmark.results.report.run_tables import evaluation_tables
from benchmark.results.report.summary import publish, size_table, summary_board, summary_table
from benchmark.results.report.table import Table, left_out_tables, to_markdown
from benchmark.results.report.terminal import print_tables
from benchmark.results.result import Evaluation, Result
from benchmark.results.results_folders import ResultsFolders, read_runs
from benchmark.run.job import Job
from benchmark.run.output import print_result
from benchmark.studies.concreteness.evaluation import ConcretenessEvaluation
from benchmark.studies.concreteness.explanation import Explanation, explanations_page
from benchmark.studies.concreteness.tables import concreteness_tables
from benchmark.studies.text_spotting.evaluation import TextSpottingEvaluation
from benchmark.studies.text_spotting.tables import text_spotting_tables
from benchmark.studies.web_likeness.caption_profile import CaptionProfile
from benchmark.studies.web_likeness.tables import likeness_table


def report(job: Job) -> None:
    """Write ``report.html``, ``.csv``, ``.json`` and ``.md``, and ``explained.html`` if captions were explained."""
    with ExitStack() as copies:
        others = [copies.enter_context(local_copy(str(name))) for name in job.cfg.task.folders]
        for folder in others:
            if not folder.is_dir():
                raise UserError(f"task.folders: {folder} must be a folder with results")
        _report(job, [job.results_dir, *others])


def _report(job: Job, folders: Sequence[Path]) -> None:
    """Write the report on the results in `folders` to the first of them."""
    task = job.cfg.task
    source = ResultsFolders(folders)
    runs = source.read(Result)
    results, evaluations = list(runs.values()), list(source.read(Evaluation).values())
    names, chosen = _metric_names(job), None
    if names is not None and (results or evaluations):
        chosen = choose_metrics(names, results, evaluations)
        results = [only_metrics(result, chosen) for result in results]
        evaluations = [replace(e, evaluations=evaluations_of(e.evaluations, chosen)) for e in evaluations]
    boards = leaderboards(results)
    shipped = [run if chosen is None else only_metrics(run, chosen) for run in _shipped_runs(boards)]
    places = {run.run_id: REFERENCE_RESULTS / run.run_id for run in shipped}
    beside = RunFolders(places | {run.run_id: path.parent / run.run_id for path, run in runs.items()})
    of_boards = leaderboard(results, beside, shipped)
    others = evaluation_tables(evaluations) + _study_tables(source)
    whole = [run for run in results if not run.protocol.is_quick_try]
    tables = of_boards + rank_agreement_tables(whole) + findings_tables(whole, beside) + others
    explained = list(source.read(Explanation).values())
    left_out = list(source.left_out.values())
    warn_of(left_out)
    if not tables and not explained:
        named = ", ".join(map(str, folders))
        readable = " that can be read" if left_out else ""
        raise UserError(
            f"results_dir={named} holds no results{readable}; run `python -m benchmark filter=random,clip` first"
        )
    if explained:
        _write(folders[0] / "explained.html", explanations_page(explained))
    summaries = [summary_table(board, beside, boards, shipped) for board in boards]
    print_tables(tables if task.full else summaries + others)
    # Not printed: the papers' figures would stand below one's own by the screenful.
    tables += (paper_tables(chosen) if results else []) + left_out_tables(left_out)
    page = leaderboard_page(results, beside, tables[len(of_boards) :], shipped)
    _write(folders[0] / "report.html", page)
    if task.publish:
        _publish([Path(name) for name in task.publish], boards, whole, beside)
    _write(folders[0] / "report.csv", leaderboards_csv(boards))
    _write(folders[0] / "report.json", leaderboards_json(boards, left_out))
    _write(folders[0] / "report.md", to_markdown(report_title(boards), LEGEND, tables))


def _shipped_runs(boards: Sequence[Leaderboard]) -> list[Result]:
    """Return the checkout's reference runs of filters that lack here.

    That is random selection, and if no two filters compete in a protocol, all filters.
    """
    lacking = dict[str, tuple[set[str], bool]]()
    for board in boards:
        own, few = {run.filter for run in board.runs}, sum(entry.competes for entry in board.entries) < 2
        if few or REFERENCE not in own:
            lacking[board.protocol.fingerprint] = own, few
    shipped = []
    for run in read_runs(REFERENCE_RESULTS) if lacking else []:
        own, few = lacking.get(run.protocol.fingerprint, ({run.filter}, False))
        if run.filter not in own and (few or run.filter == REFERENCE):
            shipped.append(run)
    return shipped


def _metric_names(job: Job) -> list[str] | None:
    """Return the names that ``task.columns=`` lists; None for all metrics."""
    if job.choices.get("metrics") != "default":  # a list of configs has no name
        columns = ",".join(map(str, job.cfg.metrics))
        raise UserError(f"metrics= says what a run computes; for columns write task.columns=[{columns}]")
    columns = job.cfg.task.columns
    if columns is None:
        return None
    return [str(name) for name in columns] if OmegaConf.is_list(columns) else [str(columns)]


def _study_tables(source: ResultsFolders) -> list[Table]:
    """Return the tables of studies."""
    tables = concreteness_tables([*source.read(ConcretenessEvaluation).values()])
    tables += text_spotting_tables([*source.read(TextSpottingEvaluation).values()])
    tables += [likeness_table(of.pool, of.likeness) for of in source.read(CaptionProfile).values()]
    if source.has("profile"):  # imported with OpenCV
        from benchmark.studies.profile.profiling import Profile
        from benchmark.studies.profile.tables import overall_tables

        tables += [overall_tables(profile)[0] for profile in source.read(Profile).values()]
    return tables


def _publish(
    files: Sequence[Path], boards: Sequence[Leaderboard], results: Sequence[Result], folders: RunFolders
) -> None:
    """Put the summary, the sizes and the paper's findings into Markdown files."""
    board = summary_board(boards)
    tables = {"leaderboard": summary_table(board, folders, boards)}
    tables["sizes"] = size_table(board, boards, folders)
    if findings := findings_tables(results, folders):
        tables["findings"] = findings[0]
    for file in files:
        if not file.is_file():
            raise UserError(f"task.publish: {file} does not exist; give Markdown files with markers")
        _write(file, publish(file.read_text(encoding="utf-8"), tables, str(file)))


def _write(path: Path, text: str) -> None:
    write_text(path, text)
    print_result(str(path))
