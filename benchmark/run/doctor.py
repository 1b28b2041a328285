"""``task=doctor``: lists what a command needs, which parts are here, and how to get the rest."""

import os
import re
import shlex
import shutil
import sys
import textwrap
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence

from benchmark.core.disk import free_bytes
from benchmark.core.errors import UserError
from benchmark.core.paths import cache_dir
from benchmark.core.requirements import Requirement, State
from benchmark.results.report.terminal import shown
from benchmark.run.config import TYPED
from benchmark.run.job import Job, with_disk

INDENT = " " * 11
# Lists with links to images of child abuse, in the name or the address of a pool; "relaion" is a re-released one.
WITHDRAWN = re.compile(r"(?<!re)laion[-_]?(400m|[125]b)", re.IGNORECASE)
RE_RELEASED = (
    "LAION withdrew LAION-400M and LAION-5B in December 2023: they link to images of child abuse (Thiel 2023). Take"
    " Re-LAION-5B (https://laion.ai/blog/relaion-5b), or keep the pairs whose urls it lists with filter=uid_list, and"
    " leave out removed ones with pool.exclude=FILE (docs/exchange.md)"
)
WIDTH = 110  # columns, if the terminal is not narrower
Found = Mapping[str, Sequence[Requirement]]


def doctor(*jobs: Job) -> None:
    """Print the requirements of the jobs as ``task=run``, and how to get the rest.

    Nothing is fetched or drawn. Raises `UserError` if something is missing that a job cannot run without.
    """
    found = requirements_of(jobs)
    _print("What this command needs")
    _print(f"machine    {_machine()}")
    there = []
    for part, of_part in found.items():
        here = list(dict.fromkeys(r.name.partition(" for ")[0] for r in of_part if r.state is State.PRESENT))
        every = len(here) == len(of_part) or here == [part]
        if here or (part.startswith("filter") and not of_part):
            there.append(part if every else f"{part} ({', '.join(here)})")
    _print(f"there      {', '.join(there)}")
    if any(
        WITHDRAWN.search(f"{job.cfg.pool.name} {job.listed_pool and job.listed_pool.url}") for job in jobs
    ):
        _print(f"consent    {RE_RELEASED}")
    absent = print_needs(found)
    later = {r.detail: r for r in absent if r.make or r.state is State.FIRST_USE}.values()
    total, unknown = sum(r.size for r in later), sum(bool(r.make) and not r.size for r in later)
    if total or unknown:
        more = f", and {unknown} of unknown size" * bool(unknown)
        _print(f"in total   {total / 1e6:,.0f} MB to be fetched or drawn{more}")
    print_remedies(absent)


def requirements_of(jobs: Iterable[Job]) -> Found:
    """Return what the jobs need as ``task=run``, by part, each once."""
    found: dict[str, dict[Requirement, None]] = defaultdict(dict)
    for job in jobs:
        for part, requirements in (job.requirements("run") | {"trial": job.trials()}).items():
            found[part] |= dict.fromkeys(requirements)
    return with_disk({part: list(of_part) for part, of_part in found.items()})


def print_needs(found: Found) -> list[Requirement]:
    """Print a line per requirement that is not here, and below it how to get it; return them."""
    parts = {r: part for part, of_part in found.items() for r in of_part if r.state is not State.PRESENT}
    for requirement in sorted(parts, key=lambda r: list(State).index(r.state), reverse=True):
        size = f", {requirement.size / 1e6:,.0f} MB" if requirement.size else ""
        of = "" if parts[requirement] == requirement.name else f" ({parts[requirement]})"
        _print(f"{requirement.state:<{len(INDENT)}}{requirement.name}{size}{of}")
        _print(f"{INDENT}{requirement.detail}")
    return list(parts)


def print_remedies(absent: Sequence[Requirement]) -> None:
    """Print the commands that get what is missing, uncut whatever the terminal's width.

    Raises `UserError` if a job cannot run without something.
    """
    # As typed; in the spelling of Hydra if the task is not typed as task=NAME.
    typed = TYPED if any(argument.startswith("task=") for argument in TYPED) else sys.argv[1:]
    given = [argument for argument in typed if not argument.startswith("task=")]
    lines = [shlex.join(["python", "-m", "benchmark", "task=fetch", *given])] * any(r.make for r in absent)
    for requirement in absent:
        if not requirement.make and requirement.state is not State.FIRST_USE:
            lines += re.findall(r"run `([^`]+)`", requirement.detail)
    for line in ["To get what is missing:", *dict.fromkeys(lines)] if lines else []:
        sys.stdout.write(f"{shown(line).plain}\n")
    if missing := dict.fromkeys(r.name for r in absent if r.state is State.MISSING):
        raise UserError(f"this command cannot run without {', '.join(missing)}; see the list")


def _print(line: str) -> None:
    """Print a line, folded between words to the width of the terminal; a path stays whole."""
    width = min(shutil.get_terminal_size().columns, WIDTH)
    for part in textwrap.wrap(
        line, width, subsequent_indent=INDENT, break_long_words=False, break_on_hyphens=False
    ):
        sys.stdout.write(f"{shown(part).plain}\n")


def _machine() -> str:
    import torch

    names = [torch.cuda.get_device_name(i) for i in range(torch.cuda.device_count())]
    gpus = ", ".join(names) or "no GPU (everything runs on the CPU, slowly for real pools)"
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30
    free = free_bytes(cache_dir()) / 2**30
    return f"{os.cpu_count()} cores, {memory:.0f} GiB memory, {gpus}; {free:.0f} GiB free for {cache_dir()}"
