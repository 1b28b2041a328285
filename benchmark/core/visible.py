"""Text from the web as it may be shown: control characters, which terminals obey, are written out."""

import re
from html import escape

# C0 and C1 controls, marks of writing direction, separators of lines and paragraphs, and halves of characters, which
# no encoding has.
_HIDDEN = re.compile("[\x00-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ud800-\udfff]")


def visible(text: str) -> str:
    """Return a text with its control and direction characters as escapes, ``\\x1b`` for one."""
    return _HIDDEN.sub(lambda found: found[0].encode("unicode_escape").decode(), text)


def visible_html(text: str) -> str:
    """Return a text as HTML that shows all of it, quotation marks included: ``visible`` and without tags."""
    return escape(visible(text))
