"""What a command needs, checked before anything is scored, drawn, fetched or trained."""

import logging
from collections import defaultdict
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from functools import cache

from omegaconf import DictConfig

from benchmark.core.errors import UserError
from benchmark.core.requirements import State
from benchmark.run.command_requirements import find_requirements

log = logging.getLogger(__name__)
LOGGED = {State.FIRST_USE: "on first use", State.WITHOUT: "missing"}
_checked: ContextVar[frozenset[str] | None] = ContextVar("_checked", default=None)


def check_before_run(cfg: DictConfig) -> frozenset[str]:
    """Raise `UserError` unless everything is there that the command needs, or comes with its first use.

    Takes seconds: nothing is scored, drawn, fetched or trained. A mistake in a setting is told without looking at the
    models, which may import torch; weights that are missing are told together. Logs, once, what will be fetched or
    drawn, and which metrics will be absent; returns the reasons for these. Returns at once within `checked_before`.
    """
    if (reasons := _checked.get()) is not None:
        return reasons
    found = find_requirements(cfg, str(cfg.task.name), every=False)
    missing = dict.fromkeys(r.detail for of in found.values() for r in of if r.state is State.MISSING)
    if missing:
        raise UserError("; and ".join(missing))
    for part, of_part in found.items():
        for state, heading in LOGGED.items():
            names: dict[str, list[str]] = defaultdict(list)
            for requirement in of_part:
                if requirement.state is state:
                    names[requirement.detail].append(requirement.name)
            for detail, of_detail in names.items():
                _log_once(f"{part}: {heading}: {_subject(part, of_detail)}{detail}")
    return frozenset(r.detail for of in found.values() for r in of if r.state is State.WITHOUT)


@contextmanager
def checked_before(reasons: frozenset[str]) -> Iterator[None]:
    """Let `check_before_run` return `reasons` within the block: a sweep checks its jobs before the first runs."""
    token = _checked.set(reasons)
    try:
        yield
    finally:
        _checked.reset(token)


def _subject(part: str, names: list[str]) -> str:
    """Return the names of what a line is about; nothing where the part itself says so."""
    return "" if names == [part.partition("=")[0]] else f"{', '.join(names)}: "


@cache
def _log_once(line: str) -> None:
    """Log a line that the runs of a sweep would repeat."""
    log.info(line)
