"""What people type, in the spelling that Hydra reads: ``--filter icc``, ``size=250k``, ``filter=[random,clip]``, ...

Everything here is done before Hydra sees the arguments; whatever it cannot make sense of is refused in one line.
"""

import re
from collections.abc import Iterator, Sequence
from pathlib import Path

from benchmark.cli.column_names import add_column_names
from benchmark.cli.free_text import FREE_TEXT, quote_free_text
from benchmark.core.errors import UserError, did_you_mean
from benchmark.run.config import CONF, shipped_names

GROUPS = tuple(sorted(path.name for path in CONF.iterdir() if path.is_dir()))
# Groups of which a list is one choice, not a sweep.
COMBINED = frozenset({"downstream", "evalset", "metrics"})
# Hydra's options, which stay as they are; the first are followed by a value.
WITH_VALUE = frozenset(
    {"--cfg", "-c", "--package", "-p", "--info", "-i", "--config-path", "-cp", "--config-name", "-cn"}
    | {"--config-dir", "-cd", "--experimental-rerun"}
)
WITHOUT_VALUE = frozenset(
    {"--help", "-h", "--hydra-help", "--version", "--resolve", "--run", "-r", "--multirun", "-m"}
    | {"--shell-completion", "-sc"}
)
OVERRIDE = re.compile(r"[~+]*[\w.$/@:-]+=")  # how a token begins that is an override of its own
COUNT = re.compile(r"(\d[\d_]*(?:\.\d*)?(?:e\d+)?)([km]?)", re.IGNORECASE)  # 50000, 250k, 1.5m, 2e5
NO_NAME = re.compile(
    r"null|true|false|nan|[+-]?inf|-?\d+(\.\d+)?", re.IGNORECASE
)  # what Hydra does not take for a string
UNQUOTED = re.compile(r"[A-Za-z0-9_/\\.:@%+*?| -]*")  # what Hydra reads without quotes
PATH = re.compile(r"(/|\.\.?/|[a-z0-9+]+://)[^,\[\]{}'\"$]*")


def normalised(arguments: Sequence[str]) -> list[str]:
    """Return the arguments of a command as Hydra reads them.

    Raises:
        UserError: an argument is no setting, or its value cannot be meant.
    """
    return add_column_names(quote_free_text([_rewritten(argument) for argument in _joined(arguments)]))


def _joined(arguments: Sequence[str]) -> list[str]:
    """Return whole overrides: ``filter = icc``, ``filter=a, b`` and ``--filter icc`` are one argument each."""
    joined: list[str] = []
    tokens = list(arguments)
    while tokens:
        token = tokens.pop(0)
        option = token.partition("=")[0]
        if option in WITH_VALUE:
            joined.append(token)
            if (
                "=" not in token
                and tokens
                and not OVERRIDE.match(tokens[0])
                and not tokens[0].startswith("-")
            ):
                joined.append(tokens.pop(0))
        elif option in WITHOUT_VALUE:
            joined.append(token)
        elif joined and _continues(joined[-1], token):
            joined[-1] += token
        elif token.startswith("--") and len(token) > 2:
            name = option.removeprefix("--").replace("-", "_")
            joined.append(f"{name}={token.partition('=')[2]}")
        elif OVERRIDE.match(token) or token[:1] in ("~", "="):
            joined.append(token)
        elif tokens and tokens[0].startswith("="):
            joined.append(token + tokens.pop(0))
        else:
            raise UserError(_not_a_setting(token, joined))
    return joined


def _continues(before: str, token: str) -> bool:
    """Return whether `token` is a part of the argument before it."""
    if OVERRIDE.match(token) or token.startswith("--") or before.partition("=")[0] in FREE_TEXT:
        return False
    return "=" in before and (before[-1] in "=," or token[:1] == ",")


def _not_a_setting(token: str, before: Sequence[str]) -> str:
    """Return the error of a token that is neither an override nor an option."""
    names = [
        group
        for group in ("task", "filter", "size", "pool", *GROUPS)
        if (CONF / group / f"{token}.yaml").is_file()
    ]
    if names:
        return f"{token!r} names no setting; did you mean {names[0]}={token}?"
    if token in GROUPS:
        return (
            f"{token} needs a value: {token}=NAME, and `python -m benchmark --help {token}` lists the names"
        )
    if token == "help":
        return "'help' names no setting; did you mean --help?"
    if before and "=" in before[-1] and not token.startswith("-"):
        return f"{token!r} names no setting; put quotes around a value with spaces: '{before[-1]} {token}'"
    return (
        f"{token!r} names no setting; write NAME=VALUE, and `python -m benchmark --help` lists what there is"
    )


def _rewritten(argument: str) -> str:
    """Return one argument in Hydra's spelling."""
    name, equals, value = argument.partition("=")
    if name.startswith("-") or not equals or name in FREE_TEXT:
        return argument
    value = value.lstrip("=").strip(", ")
    if not name:
        raise UserError(f"{argument} names no setting; write NAME=VALUE")
    if value[:1] in ("'", '"'):
        return f"{name}={value}"
    group = name.lstrip("+").partition("@")[0]
    if value.startswith("[") and value.endswith("]") and group in {*GROUPS, "seed"} - COMBINED:
        value = value[1:-1]  # a sweep
    if group in ("size", "size.samples"):
        return _sizes(name, value)
    if group == "seed" and (span := re.fullmatch(r"(\d+)(:|-|\.\.)(\d+)", value)):
        listed = ",".join(map(str, range(int(span[1]), int(span[3]) + 1)[:10]))
        raise UserError(f"seed={value} must be an integer; to sweep over seeds write seed={listed}")
    if group in GROUPS and NO_NAME.fullmatch(value):
        raise UserError(f"{name}={value} is unknown; {did_you_mean(value, shipped_names(group))}")
    value = re.sub(r"(?<![^,\[])~(?=/|$)", str(Path.home()).replace("\\", r"\\"), value)
    special = PATH.fullmatch(value) and not UNQUOTED.fullmatch(value)
    return f'{name}="{value}"' if special else f"{name}={value}"


def _sizes(name: str, value: str) -> str:
    """Return the override of one size or several: by the names of their configs if all have one, else as numbers."""
    parts = [part.strip() for part in value.split(",")]
    counts = list(map(_count, parts))
    numbers = [count for count in counts if count is not None]
    if len(numbers) < len(parts):
        return f"{name}={value}"  # names of other configs, or of none
    known = {_count(config): config for config in shipped_names("size")}
    if name == "size" and set(numbers) <= set(known):
        return f"size={','.join(known[number] for number in numbers)}"
    return f"size.samples={','.join(map(str, numbers))}"


def _count(text: str) -> int | None:
    """Return the number of pairs that ``200k``, ``1.5m`` or ``50000`` stands for; None for other texts.

    Raises:
        UserError: a number, or null, that is no number of pairs.
    """
    match = COUNT.fullmatch(text)
    number = float(match[1]) * {"": 1, "k": 1e3, "m": 1e6}[match[2].lower()] if match else 0.0
    if number >= 1 and number.is_integer():
        return int(number)
    if match or not text or NO_NAME.fullmatch(text):
        raise UserError(f"size={text} must be the number of pairs to keep, such as 200k, 1.5m or 50000")
    return None


def settings_given(arguments: Sequence[str]) -> Iterator[str]:
    """Yield the overrides among the arguments of a command."""
    yield from (argument for argument in arguments if "=" in argument and not argument.startswith("-"))
