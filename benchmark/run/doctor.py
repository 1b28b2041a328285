"""``task=doctor``: what the rest of this command needs, what of it is there, and how to get what is missing."""

import os
import re
import shlex
import sys
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence

from rich.console import Console
from rich.table import Table
from rich.text import Text

from benchmark.core.disk import disk_space, free_bytes
from benchmark.core.errors import UserError
from benchmark.core.paths import cache_dir
from benchmark.core.requirements import Requirement, State
from benchmark.results.report.terminal import shown
from benchmark.run.job import Job

STYLES = {State.PRESENT: "green", State.FIRST_USE: "yellow", State.WITHOUT: "yellow", State.MISSING: "red"}
Found = Mapping[str, Sequence[Requirement]]


def doctor(*jobs: Job) -> None:
    """Print a table of the requirements of the jobs as ``task=run``; nothing is fetched or drawn.

    Below it is a command per line that gets what is missing. Raises `UserError` if something is missing that a job
    cannot run without.
    """
    found = requirements_of(jobs)
    table = Table(title="What this command needs", title_justify="left")
    for column in ("", "of", "what", "MB", "found, or how to get it"):
        table.add_column(column, overflow="fold")
    for part, requirements in ({"machine": list(_machine())} | dict(found)).items():
        for requirement in requirements:
            state = Text(requirement.state, style=STYLES[requirement.state])
            size = f"{requirement.size / 1e6:,.0f}" if requirement.size else ""
            table.add_row(state, *map(shown, (part, requirement.name, size, requirement.detail)))
    Console().print(table)
    print_remedies(found)


def requirements_of(jobs: Iterable[Job]) -> Found:
    """Return what the jobs need as ``task=run``, by part, each once."""
    found: dict[str, dict[Requirement, None]] = defaultdict(dict)
    for job in jobs:
        for part, requirements in (job.requirements("run") | {"trial": job.trials()}).items():
            found[part] |= dict.fromkeys(requirements)
    later = (r for part in found.values() for r in part if r.state is State.FIRST_USE)
    return {part: list(of_part) for part, of_part in found.items()} | {"disk": list(disk_space(later))}


def print_remedies(found: Found) -> None:
    """Print how to get what is missing, a command or a comment per line, uncut whatever the terminal's width.

    Raises `UserError` if a job cannot run without something.
    """
    absent = [r for of_part in found.values() for r in of_part if r.state is not State.PRESENT]
    given = [argument for argument in sys.argv[1:] if not argument.startswith("task=")]
    fetch = shlex.join(["python", "-m", "benchmark", "task=fetch", *given])
    lines = [fetch] if any(r.make for r in absent) else []
    for requirement in absent:
        if not requirement.make and requirement.state is not State.FIRST_USE:
            commands = re.findall(r"run `([^`]+)`", requirement.detail)
            lines += commands or [f"# {requirement.name}: {requirement.detail}"]
    for line in ["To get what is missing:", *dict.fromkeys(lines)] if lines else []:
        sys.stdout.write(f"{shown(line).plain}\n")
    if missing := dict.fromkeys(r.name for r in absent if r.state is State.MISSING):
        raise UserError(f"this command cannot run without {', '.join(missing)}; see the list")


def _machine() -> Iterator[Requirement]:
    import torch

    names = [torch.cuda.get_device_name(i) for i in range(torch.cuda.device_count())]
    without = "none; everything runs on the CPU, slowly for real pools"
    yield Requirement("GPU", State.PRESENT if names else State.WITHOUT, ", ".join(names) or without)
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30
    yield Requirement("processor", State.PRESENT, f"{os.cpu_count()} cores, {memory:.0f} GiB memory")
    free = free_bytes(cache_dir()) / 2**30
    yield Requirement("disk", State.PRESENT, f"{free:.0f} GiB free for {cache_dir()}")
