"""The tables that a sweep ends with: how each job ended, and the headline metrics of all results."""

from collections.abc import Sequence
from pathlib import Path

from benchmark.cli.outcomes import Outcome, counts
from benchmark.core.records import scan_records
from benchmark.results.report.run_tables import joint_tables
from benchmark.results.report.table import Table, plain
from benchmark.results.result import Result


def outcome_tables(outcomes: Sequence[Outcome]) -> list[Table]:
    """Return a row per job with its state, seconds, and result or error; then the metrics of the results."""
    rows = [plain(o.run, o.state, f"{o.seconds:.1f}", o.text) for o in outcomes]
    title = f"Sweep of {len(outcomes)} runs: {counts(outcomes)}"
    table = Table(title, ["run", "state", "seconds", "result or error"], rows)
    return [table, *joint_tables(_results(outcomes))]


def _results(outcomes: Sequence[Outcome]) -> list[tuple[str, Result]]:
    """Return the results of those jobs that have one, each with the name of its job."""
    names = {Path(o.text): o.run for o in outcomes if o.state in ("done", "skipped") and o.text}
    records: dict[Path, Result] = {}
    for folder in sorted({path.parent for path in names}):
        records |= scan_records(folder, Result)[0]
    return [(name, records[path]) for path, name in names.items() if path in records]
