"""What a command needs on this machine: whether it is there, comes with its first use, or is missing."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path

from benchmark.core.errors import UserError


class State(StrEnum):
    """Whether a requirement is met, as task=doctor writes it."""

    PRESENT = "yes"
    FIRST_USE = "first use"  # fetched or made when it is first used
    WITHOUT = "without"  # the command works without it: a metric is absent
    MISSING = "no"


@dataclass(frozen=True)
class Requirement:
    """Something that a command needs.

    Args:
        name: what it is.
        state: whether it is there.
        detail: where it lies, or how to get it.
        size: bytes that its first use will write, 0 if they are unknown.
        folder: where they will be written.
    """

    name: str
    state: State
    detail: str
    size: int = 0
    folder: Path | None = None


class OnFirstUseError(Exception):
    """Something would now be fetched or made, which is not done within `only_looking`; see `Requirement`."""

    def __init__(self, detail: str, size: int = 0, folder: Path | None = None) -> None:
        super().__init__(detail)
        self.size = size
        self.folder = folder


_only_looking = ContextVar("only_looking", default=False)


@contextmanager
def only_looking() -> Iterator[None]:
    """Have `looks_only` return True: nothing large is fetched or made within the block."""
    token = _only_looking.set(True)
    try:
        yield
    finally:
        _only_looking.reset(token)


def looks_only() -> bool:
    """Return whether the caller must raise `OnFirstUseError` in place of fetching or making something."""
    return _only_looking.get()


def look(name: str, locate: Callable[[], object]) -> Requirement:
    """Return the requirement `name`: present where `locate` says, or missing for the reason of its `UserError`."""
    try:
        with only_looking():
            return Requirement(name, State.PRESENT, str(locate()))
    except OnFirstUseError as later:
        return on_first_use(name, later)
    except UserError as error:
        return Requirement(name, State.MISSING, str(error))


def on_first_use(name: str, later: OnFirstUseError) -> Requirement:
    """Return the requirement `name` that comes with its first use."""
    return Requirement(name, State.FIRST_USE, str(later), later.size, later.folder)
