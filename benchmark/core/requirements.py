"""What a command needs on this machine: whether it is there, comes with its first use, or is missing."""

from collections import defaultdict
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path
from typing import TypeVar

from benchmark.core.errors import UserError

T = TypeVar("T")


class State(StrEnum):
    """Whether a requirement is met, as task=doctor writes it."""

    PRESENT = "yes"
    FIRST_USE = "first use"  # fetched or made when it is first used
    WITHOUT = "without"  # the command works without it: a metric is absent
    MISSING = "no"


@dataclass(frozen=True)
class Requirement:
    """Something that a command needs."""

    name: str  # what it is
    state: State  # whether it is there
    detail: str  # its place, or how to get it
    size: int = 0  # bytes that its first use, or task=fetch, will write, 0 if they are unknown
    folder: Path | None = None  # where they will be written
    # Fetches or makes it; None if only the user can.
    make: Callable[[], object] | None = field(default=None, compare=False)


class OnFirstUseError(Exception):
    """Something has to be fetched or made before it can be used; `provide` does so. See `Requirement`."""

    def __init__(
        self,
        detail: str,
        size: int = 0,
        folder: Path | None = None,
        make: Callable[[], object] = lambda: None,
    ) -> None:
        super().__init__(detail)
        self.size = size
        self.folder = folder
        self.make = make


class AbsentError(UserError):
    """Something is not on this machine, as the message says."""


class NotFetchedError(AbsentError):
    """Something is missing, as `message` says, that task=fetch gets by `later`; no other task does."""

    def __init__(self, message: str, later: OnFirstUseError) -> None:
        super().__init__(message)
        self.later = later


def provide(build: Callable[[], T]) -> T:
    """Return the result of `build`, after fetching or making what it lacks."""
    try:
        return build()
    except OnFirstUseError as later:
        later.make()
        return build()


def look(name: str, locate: Callable[[], object]) -> Requirement:
    """Return the requirement `name`: present where `locate` says, or missing for the reason of its `UserError`."""
    try:
        return Requirement(name, State.PRESENT, str(locate()))
    except (OnFirstUseError, UserError) as error:
        return lacking(name, error)


def lacking(name: str, error: Exception, state: State = State.MISSING) -> Requirement:
    """Return the requirement `name`, which is not there for the reason of `error`, or of its cause."""
    later: BaseException | None = error
    for cause in (error, error.__cause__):
        later = cause.later if isinstance(cause, NotFetchedError) else later
    if not isinstance(later, OnFirstUseError):
        return Requirement(name, state, str(error))
    state = State.FIRST_USE if later is error else state
    return Requirement(name, state, str(error), later.size, later.folder, later.make)


def join_details(details: Iterable[str]) -> list[str]:
    """Return lines such as ``checkpoint a: it is missing`` and ``checkpoint b: it is missing`` as one."""
    subjects: dict[str, list[str]] = defaultdict(list)
    for detail in details:
        subject, colon, rest = detail.partition(": ")
        subjects[colon + rest or detail].append(subject if colon else "")
    return [", ".join(named) + rest for rest, named in subjects.items()]
