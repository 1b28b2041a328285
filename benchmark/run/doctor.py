"""``task=doctor``: what the rest of this command needs, what of it is there, and how to get what is missing."""

import os
from collections.abc import Iterator

from rich.console import Console
from rich.table import Table
from rich.text import Text

from benchmark.core.disk import free_bytes
from benchmark.core.errors import UserError
from benchmark.core.paths import cache_dir
from benchmark.core.requirements import Requirement, State
from benchmark.results.report.terminal import shown
from benchmark.run.job import Job

STYLES = {State.PRESENT: "green", State.FIRST_USE: "yellow", State.WITHOUT: "yellow", State.MISSING: "red"}


def doctor(job: Job) -> None:
    """Print a table of what ``task=run`` with this command's other settings needs; nothing is fetched or drawn.

    Raises `UserError` if something is missing that the command cannot run without.
    """
    found = {"machine": list(_machine())} | job.requirements("run")
    table = Table(title="What this command needs", title_justify="left")
    for column in ("", "of", "what", "found, or how to get it"):
        table.add_column(column, overflow="fold")
    for part, requirements in found.items():
        for requirement in requirements:
            state = Text(requirement.state, style=STYLES[requirement.state])
            table.add_row(state, shown(part), shown(requirement.name), shown(requirement.detail))
    Console().print(table)
    missing = [r.name for of_part in found.values() for r in of_part if r.state is State.MISSING]
    if missing:
        raise UserError(f"this command cannot run without {', '.join(dict.fromkeys(missing))}; see the table")


def _machine() -> Iterator[Requirement]:
    import torch

    names = [torch.cuda.get_device_name(i) for i in range(torch.cuda.device_count())]
    without = "none; everything runs on the CPU, slowly for real pools"
    yield Requirement("GPU", State.PRESENT if names else State.WITHOUT, ", ".join(names) or without)
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30
    yield Requirement("processor", State.PRESENT, f"{os.cpu_count()} cores, {memory:.0f} GiB memory")
    free = free_bytes(cache_dir()) / 2**30
    yield Requirement("disk", State.PRESENT, f"{free:.0f} GiB free for {cache_dir()}")
