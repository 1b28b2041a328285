"""Text as it may be shown or recorded: without credentials in URLs, and without characters that terminals obey."""

import re
from collections.abc import Callable
from html import escape
from typing import Any

# A password may hold a slash, which should be %2F; a port is followed by one.
_USER = re.compile(r"(?<=://)(?:[^/\s'\"]*|[^/\s'\":@]*:(?!\d+/)[^\s'\"@]*)@")
# From the first parameter, query or fragment on; but the name of a view on W&B, without which its URL would lead
# elsewhere, and names of this machine's files, which may have these characters.
_SECRETS = re.compile(r"(\b(?!file:)[a-zA-Z][\w+.-]*://[^\s?;#'\"]*[?;#])(?!nw=\w+(?:\s|$))[^\s'\"]+")

# C0 and C1 controls, marks of writing direction, separators of lines and paragraphs, and halves of characters, which
# no encoding has.
_HIDDEN = re.compile("[\x00-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ud800-\udfff]")


def redact(text: str) -> str:
    """Return `text` with ``***`` for all that may be a secret in its URLs: user, parameters, query, fragment."""
    return _SECRETS.sub(r"\1***", _USER.sub("***@", text))


def map_values(value: Any, kind: type, change: Callable[[Any], Any]) -> Any:
    """Return plain data (dictionaries, lists, numbers, texts) with every value of a kind changed, such as texts."""
    if isinstance(value, dict):
        return {name: map_values(of, kind, change) for name, of in value.items()}
    if isinstance(value, list | tuple):
        return [map_values(of, kind, change) for of in value]
    return change(value) if isinstance(value, kind) else value


def visible(text: str) -> str:
    """Return a text with its control and direction characters as escapes, ``\\x1b`` for one."""
    return _HIDDEN.sub(lambda found: found[0].encode("unicode_escape").decode(), text)


def visible_html(text: str) -> str:
    """Return a text as HTML that shows all of it, quotation marks included: ``visible`` and without tags."""
    return escape(visible(text))
