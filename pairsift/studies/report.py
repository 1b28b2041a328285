"""What the papers add to the report: their figures and findings, and the tables of studies."""

from collections.abc import Collection, Sequence

from benchmark.results.report.certainty import RunFolders
from benchmark.results.report.frame import Measure
from benchmark.results.report.leaderboard import Entry
from benchmark.results.report.leaderboard_tables import Additions
from benchmark.results.report.table import Cell, Table
from benchmark.results.result import Result
from benchmark.results.results_folders import ResultsFolders
from pairsift.studies.demo_worlds import world_tables
from pairsift.studies.findings import findings_tables, rank_agreement_tables
from pairsift.studies.icc.concreteness.evaluation import ConcretenessEvaluation
from pairsift.studies.icc.concreteness.explanation import Explanation, explanations_page
from pairsift.studies.icc.concreteness.tables import concreteness_tables
from pairsift.studies.parrots.evaluation import TextSpottingEvaluation
from pairsift.studies.parrots.tables import text_spotting_tables
from pairsift.studies.profile.web_likeness.caption_profile import CaptionProfile
from pairsift.studies.profile.web_likeness.tables import likeness_table
from pairsift.studies.published_figures import paper_rows, paper_tables


class Studies(Additions):
    """The papers' figures and findings, and the tables of studies."""

    def rows(
        self, entries: Sequence[Entry], measures: Sequence[Measure]
    ) -> tuple[list[list[Cell]], list[str]]:
        """Return the papers' figures below runs of their setting, and their sources."""
        return paper_rows(entries, measures)

    def of_runs(self, runs: Sequence[Result], folders: RunFolders) -> dict[str, list[Table]]:
        """Return the agreement of rankings, the ICC paper's findings, and the demo's worlds."""
        tables = {"agreement": rank_agreement_tables(runs), "findings": findings_tables(runs, folders)}
        return tables | world_tables(runs)

    def of_records(self, source: ResultsFolders) -> list[Table]:
        """Return the tables of concreteness, text spotting, and profiles."""
        tables = concreteness_tables([*source.read(ConcretenessEvaluation).values()])
        tables += text_spotting_tables([*source.read(TextSpottingEvaluation).values()])
        tables += [likeness_table(of.pool, of.likeness) for of in source.read(CaptionProfile).values()]
        if source.has("profile"):  # imported with OpenCV
            from pairsift.studies.profile.profiling import Profile
            from pairsift.studies.profile.tables import overall_tables

            tables += [overall_tables(profile)[0] for profile in source.read(Profile).values()]
        return tables

    def pages(self, source: ResultsFolders) -> dict[str, str]:
        """Return the page of explained captions, if any were explained."""
        explained = list(source.read(Explanation).values())
        return {"explained.html": explanations_page(explained)} if explained else {}

    def references(self, chosen: Collection[str] | None) -> list[Table]:
        """Return the papers' tables."""
        return paper_tables(chosen)
