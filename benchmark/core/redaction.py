"""Credentials in URLs, which are never printed or recorded."""

import re

_USER = re.compile(r"(?<=://)[^/\s'\"]*@")
_QUERY = re.compile(r"(\b[a-zA-Z][\w+.-]*://[^\s?'\"]*)\?[^\s'\"]+")


def redact(text: str) -> str:
    """Return `text` with ``***`` for the user and the query, which may be a signature, of every URL in it."""
    return _QUERY.sub(r"\1?***", _USER.sub("***@", text))
