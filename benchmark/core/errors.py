"""Errors that a user can cause and correct."""

from collections.abc import Iterable
from difflib import get_close_matches


class UserError(Exception):
    """A user's mistake: its message, one line that says what to do, is printed without a traceback; exit code 2."""


def did_you_mean(name: str, known: Iterable[str]) -> str:
    """Return ``"did you mean 'icc'? known: ..."`` for an unknown `name`."""
    names = sorted(known)
    folded = {known_name.casefold(): known_name for known_name in names}
    close = get_close_matches(name.casefold(), folded, n=1)
    hint = f"did you mean {folded[close[0]]!r}? " if close else ""
    return f"{hint}known: {', '.join(names)}"
