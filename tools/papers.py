"""``python -m tools.papers``: write docs/papers.md, every table and figure of the papers and how to make it.

The entries are in docs/papers, one file per paper. The files in ``pairsift/studies/published`` show which tables have
their printed digits as data.
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
HEADER = ["", "on real data", "needs", "on the demo"]
TOP = """# The papers' tables and figures

The command for every table and figure of the five papers, on real data with the papers' checkpoints and in small on
the demo; or why there is none. `pairsift` is `python -m benchmark`. FOLDER, FILE and URL are yours. `plan=true` lists
what a command without `task=` would run and download. `pairsift task=report` afterwards makes the tables.

A star marks tables with their printed digits in `pairsift/studies/published`, which the report shows below ours.
*Our readings* are decisions that a paper leaves open. Metrics on the demo that are not ICC's are of an earlier
draw. `python -m tools.papers` writes this page from `docs/papers`.
"""


@dataclass(frozen=True)
class Entry:
    """A table or figure.

    Args:
        item: its name in the paper, such as Table 2b or Figure 7.
        real: overrides of the commands on real data, without the program's name; demo: the same on the demo.
        needs: time, downloads and data of the commands on real data.
        small: what the demo's version shows.
        reason: why a command is impossible, in general or on the demo.
    """

    item: str
    real: list[str] = field(default_factory=list)
    demo: list[str] = field(default_factory=list)
    needs: str = ""
    small: str = ""
    reason: str = ""

    @property
    def number(self) -> str:
        """The number after "Table" or "Figure"."""
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
    """Return the file's content, with a single command as a list of one."""
    paper: dict[str, Any] = yaml.safe_load(path.read_text(encoding="utf-8"))
    for entry in paper["entries"]:
        for key in {"real", "demo"} & set(entry):
            entry[key] = [entry[key]] if isinstance(entry[key], str) else entry[key]
    return paper


def commands(entry: Entry) -> Iterator[str]:
    """Yield the entry's commands as they are typed."""
    return (PROGRAM + overrides for overrides in (*entry.real, *entry.demo))


def recorded_digits(paper: str) -> set[str]:
    """Return the numbers of the paper's tables that have their printed digits as data."""
    downstream = {table.number for table in published_tables() if table.paper == paper}
    return downstream | {number for of, number in study_tables() if of == paper}


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
    real, demo = ([f"`pairsift {overrides}`" for overrides in of] for of in (entry.real, entry.demo))
    small = [entry.small] * bool(entry.small)
    if entry.reason:
        (small if entry.real else real).append(f"None: {entry.reason}")
    star = "\\*" if entry.is_table and entry.number in recorded_digits(paper.paper) else ""
    cells = [entry.item + star, "<br>".join(real), entry.needs, "<br>".join(demo + small)]
    return [cell or "–" for cell in cells]


if __name__ == "__main__":
    write_text(PAGE, page(papers()))
