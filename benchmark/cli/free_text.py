"""Quoting of sentences and URLs on the command line, so that Hydra's override grammar does not parse them."""

import re
from collections.abc import Sequence

FREE_TEXT = ("explain",)  # settings whose value is a sentence
LOCATIONS = ("pool.url", "results_dir", "task.output")  # which may have braces and queries


def quote_free_text(arguments: Sequence[str]) -> list[str]:
    """Return the overrides with the values of `FREE_TEXT` settings quoted, so that Hydra takes them literally.

    Those of `LOCATIONS` are if they have braces or a query, but no ``$``, with which interpolations begin. Values
    that are already quoted, empty values and null stay unchanged.
    """
    return [_quoted(argument) for argument in arguments]


def _quoted(argument: str) -> str:
    name, equals, value = argument.partition("=")
    in_quotes = len(value) > 1 and value[0] == value[-1] and value[0] in "'\""
    is_pattern = name in LOCATIONS and re.search(r"[{&=]", value) and "$" not in value
    if not (name in FREE_TEXT or is_pattern) or not equals or in_quotes or value in ("", "null"):
        return argument
    # Hydra unescapes backslashes only before a quote; OmegaConf reads an unescaped ${ as an interpolation.
    value = re.sub(r"(\\*)\$\{", lambda m: m[1] * 2 + "\\${", value)
    value = re.sub(r'(\\*)("|$)', lambda m: m[1] * 2 + ('\\"' if m[2] else ""), value)
    return f'{name}="{value}"'
