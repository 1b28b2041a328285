"""``python -m tools.papers``: write docs/papers.md, every table and figure of the papers and how to make it.

The entries are in docs/papers, one file per paper. Which tables have their printed digits as data, the files in
``pairsift/studies/published`` say.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import yaml
from pydantic import TypeAdapter

from benchmark.core.paths import write_text
from pairsift.studies.published_figures import published_tables, study_tables

DOCS = Path(__file__).parents[1] / "docs"
PAGE = DOCS / "papers.md"
PROGRAM = "python -m benchmark "
HEADER = ["", "shows", "on real data", "needs", "on the demo", "digits"]
TOP = """# The papers' tables and figures

Every table and figure of the five papers, with the command that makes it on real data with real checkpoints, and the
command that makes a small version on the demo; or the reason why there is none. FOLDER, FILE and URL are yours.
`plan=true` after a command without `task=` says what it would run, download and take.
`python -m benchmark task=report` afterwards makes the tables, and a page with the papers' tables as printed.

Digits are "data" if the table as printed is in `pairsift/studies/published`. What we read into a paper that
it does not print follows its table, as *our readings*. `python -m tools.papers` writes this page from the files in
`docs/papers`.
"""


@dataclass(frozen=True)
class Entry:
    """A table or figure.

    Args:
        item: as the paper names it: Table 2b, Figure 7.
        place: section or appendix.
        real: overrides of the commands on real data, without the program's name; demo: those on the demo.
        needs: time, downloads and data of the commands on real data.
        small: what the demo's version shows.
        reason: why there can be no command, or no command on the demo.
        digits: why the printed digits of a table are not data.
    """

    item: str
    place: str
    shows: str
    real: list[str] = field(default_factory=list)
    demo: list[str] = field(default_factory=list)
    needs: str = ""
    small: str = ""
    reason: str = ""
    digits: str = ""

    @property
    def number(self) -> str:
        """What follows "Table" or "Figure"."""
        return self.item.rpartition(" ")[2]

    @property
    def is_table(self) -> bool:
        """Whether it is a table."""
        return self.item.startswith("Table ")


@dataclass(frozen=True)
class Paper:
    """A paper by its short name, with the title and setup of its section, its entries, and our readings of it."""

    paper: str
    title: str
    setup: str
    entries: list[Entry]
    readings: list[str]


def papers() -> list[Paper]:
    """Return all papers, ICC first."""
    order = ("icc", "icc_submission", "ds_clip", "parrot", "ava")
    adapter = TypeAdapter(Paper)
    return [adapter.validate_python(_read(DOCS / "papers" / f"{name}.yaml")) for name in order]


def _read(path: Path) -> dict[str, Any]:
    """Return the file's content, a single command as a list of one."""
    paper: dict[str, Any] = yaml.safe_load(path.read_text(encoding="utf-8"))
    for entry in paper["entries"]:
        for key in {"real", "demo"} & set(entry):
            entry[key] = [entry[key]] if isinstance(entry[key], str) else entry[key]
    return paper


def commands(entry: Entry) -> Iterator[str]:
    """Yield the entry's commands as they are typed."""
    return (PROGRAM + overrides for overrides in (*entry.real, *entry.demo))


def recorded_digits(paper: str) -> set[str]:
    """Return the numbers of the paper's tables whose printed digits are data."""
    downstream = {table.number for table in published_tables() if table.paper == paper}
    return downstream | {table.number for table in study_tables() if table.paper == paper}


def page(listed: Sequence[Paper]) -> str:
    """Return the page as Markdown."""
    parts = [TOP, _counts(listed)]
    for paper in listed:
        rows = [HEADER, ["---"] * len(HEADER), *(_row(paper, entry) for entry in paper.entries)]
        table = "\n".join(f"| {' | '.join(row)} |" for row in rows)
        readings = "\n".join(f"- {reading}" for reading in paper.readings)
        parts.append(
            f"## {paper.paper}\n\n{paper.title}.\n\n{paper.setup}\n\n{table}\n\nOur readings:\n\n{readings}\n"
        )
    return "\n".join(parts)


def _counts(listed: Sequence[Paper]) -> str:
    """Return a table of how many entries of each paper have a command or a reason."""
    rows = [["", "command", "reason"], ["---", "---:", "---:"]]
    for paper in listed:
        with_command = sum(bool(entry.real) for entry in paper.entries)
        rows.append([paper.paper, str(with_command), str(len(paper.entries) - with_command)])
    return "\n".join(f"| {' | '.join(row)} |" for row in rows) + "\n"


def _row(paper: Paper, entry: Entry) -> list[str]:
    real = [f"`{PROGRAM}{overrides}`" for overrides in entry.real]
    demo = [f"`{PROGRAM}{overrides}`" for overrides in entry.demo]
    small = [f"Shows {entry.small}"] * bool(entry.small)
    if entry.reason:
        (small if entry.real else real).append(f"None: {entry.reason}")
    name = f"{entry.item}<br>{entry.place}"
    cells = [
        name,
        entry.shows,
        "<br>".join(real),
        entry.needs,
        "<br>".join(demo + small),
        _digits(paper.paper, entry),
    ]
    return [cell or "–" for cell in cells]


def _digits(paper: str, entry: Entry) -> str:
    if not entry.is_table:
        return ""
    return "data" if entry.number in recorded_digits(paper) else entry.digits or "not recorded"


if __name__ == "__main__":
    write_text(PAGE, page(papers()))
