"""Errors that a user can cause and correct, such as a disk that is full or read-only."""

import errno
import re
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from difflib import get_close_matches
from pathlib import Path

_OTHER_FOLDER = "name a folder that takes files (XDG_CACHE_HOME, results_dir, task.output)"
_FULL = f"the disk is full; make room, or {_OTHER_FOLDER}"
_OF_DISK = {
    errno.ENOSPC: _FULL,
    errno.EDQUOT: f"the disk quota is used up; make room, or {_OTHER_FOLDER}",
    errno.EROFS: f"the disk is read-only; {_OTHER_FOLDER}",
}
_OF_RIGHTS = dict.fromkeys((errno.EACCES, errno.EPERM), f"permission denied; {_OTHER_FOLDER}")
# As safetensors, numpy and torch say that a disk is full, without an error number.
_FULL_IN_WORDS = re.compile(
    r"no space left|not enough free space|requested and \d+ written|inline_container", re.IGNORECASE
)

MANY, FEW = 60, 8  # known names in an error


class UserError(Exception):
    """A user's mistake: its message, one line that says what to do, is printed without a traceback; exit code 2."""


class MistakesError(UserError):
    """Several mistakes of a user; each of `lines` is printed as one line."""

    def __init__(self, lines: Sequence[str]) -> None:
        super().__init__(list(lines))  # as they are: a worker's error is pickled
        self.lines = list(lines)

    def __str__(self) -> str:
        return "; and ".join(self.lines)


def did_you_mean(name: str, known: Iterable[str]) -> str:
    """Return ``"did you mean 'icc'? known: ..."`` for an unknown `name`; of many known names, those like it."""
    names = sorted(known)
    folded = {known_name.casefold(): known_name for known_name in names}
    close = [folded[match] for match in get_close_matches(name.casefold(), folded, n=FEW)]
    hint = f"did you mean {close[0]!r}? " if close else ""
    shown = names if len(names) <= MANY else close or names[:FEW]
    more = [f"{len(names) - len(shown):,} more"] * (len(shown) < len(names))
    return f"{hint}known: {', '.join([*shown, *more])}"


class UnwritableError(UserError):
    """A file that the disk does not take."""


@contextmanager
def disk_errors_as_one_line(path: Path | None = None) -> Iterator[None]:
    """Turn an error of the disk into an `UnwritableError`; it is of `path` if it names no file. Other errors pass."""
    try:
        yield
    except Exception as error:
        file = getattr(error, "filename", None) or path
        if reason := _reason(error, file):
            raise UnwritableError(f"{file or 'a file'}: {reason}") from error
        raise


@contextmanager
def panics_as_errors(failure: str = "a tokenizer cannot read a caption") -> Iterator[None]:
    """Turn a panic of a library in Rust, which is not an `Exception`, into a `UserError`.

    Tokenizers panic on a damaged ``tokenizer.json``, and on texts that need too many steps of a regular expression.
    """
    try:
        yield
    except BaseException as error:
        if type(error).__module__ != "pyo3_runtime":  # each library has its own PanicException
            raise
        reason = str(error).strip().split("\n")[0][:200]
        raise UserError(f"{failure}: {reason}; choose another checkpoint") from error


def _reason(error: Exception, file: object) -> str | None:
    if isinstance(error, OSError) and error.errno is not None:
        # Without a file, permission was denied for something else than files.
        return _OF_DISK.get(error.errno) or (_OF_RIGHTS.get(error.errno) if file else None)
    return _FULL if not isinstance(error, UserError) and _FULL_IN_WORDS.search(str(error)) else None
