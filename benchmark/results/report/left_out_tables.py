"""The files of results folders that the report cannot show, and why."""

from collections.abc import Sequence

from benchmark.core.records import LeftOut
from benchmark.results.report.table import Table, plain


def left_out_tables(files: Sequence[LeftOut]) -> list[Table]:
    """Return the table of the files that were left out; none if there are none."""
    rows = [plain(str(file.path), file.reason) for file in files]
    return [Table("Left out", ["file", "reason"], rows)] if rows else []
