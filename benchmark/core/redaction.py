"""Credentials in URLs, which are never printed or recorded."""

import re
from collections.abc import Callable
from typing import Any

_USER = re.compile(r"(?<=://)[^/\s'\"]*@")
# All queries but the name of a view on W&B, without which its URL would lead elsewhere.
_QUERY = re.compile(r"(\b[a-zA-Z][\w+.-]*://[^\s?'\"]*)\?(?!nw=\w+(?:\s|$))[^\s'\"]+")


def redact(text: str) -> str:
    """Return `text` with ``***`` for the user and the query, which may be a signature, of every URL in it."""
    return _QUERY.sub(r"\1?***", _USER.sub("***@", text))


def map_texts(value: Any, change: Callable[[str], str]) -> Any:
    """Return plain data (dictionaries, lists, numbers, texts) with every text changed."""
    if isinstance(value, dict):
        return {name: map_texts(of, change) for name, of in value.items()}
    if isinstance(value, list | tuple):
        return [map_texts(of, change) for of in value]
    return change(value) if isinstance(value, str) else value
