"""What another package adds to the report."""

from collections.abc import Collection, Sequence

from benchmark.results.report.certainty import RunFolders
from benchmark.results.report.frame import Measure
from benchmark.results.report.leaderboard import Entry
from benchmark.results.report.table import Cell, Table
from benchmark.results.result import Result
from benchmark.results.results_folders import ResultsFolders


class Additions:
    """Nothing; `task.additions` names a subclass, which adds tables, pages, and rows to leaderboards."""

    def rows(
        self, entries: Sequence[Entry], measures: Sequence[Measure]
    ) -> tuple[list[list[Cell]], list[str]]:
        """Return rows below a leaderboard's table, such as a paper's own figures, and notes on them."""
        return [], []

    def of_runs(self, runs: Sequence[Result], folders: RunFolders) -> dict[str, list[Table]]:
        """Return tables over all leaderboards by the names under which `task.publish` puts the first into files."""
        return {}

    def of_records(self, source: ResultsFolders) -> list[Table]:
        """Return tables of other kinds of records in the results folders."""
        return []

    def pages(self, source: ResultsFolders) -> dict[str, str]:
        """Return pages of such records as HTML, by the names of their files."""
        return {}

    def references(self, chosen: Collection[str] | None) -> list[Table]:
        """Return tables that are not of these results, with columns of the `chosen` metrics; None for all."""
        return []


NO_ADDITIONS = Additions()
