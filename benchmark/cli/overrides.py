"""Rewrites what people type, ``--filter icc``, ``size=250k``, ``filter=[random,clip]``, in Hydra's spelling.

Everything here is done before Hydra sees the arguments. An argument that cannot be a setting is refused in one line.
"""

import re
from collections.abc import Sequence
from itertools import accumulate

from benchmark.core.errors import UserError, did_you_mean
from benchmark.core.paths import user_path
from benchmark.run.config import ALL, CONF, shipped_names

GROUPS = tuple(sorted(path.name for path in CONF.iterdir() if path.is_dir()))
NESTED_GROUPS = {"icc.reading": "icc/reading"}  # typed like a setting
# Groups of which a list is one choice, not a sweep.
COMBINED = frozenset({"downstream", "evalset", "metrics"})
FREE_TEXT = frozenset({"task.explain"})  # settings whose value is a sentence
LOCATIONS = frozenset({"pool.url", "results_dir", "task.output"})  # which may have braces and queries
# Hydra's options, which stay as they are; the first are followed by a value.
WITH_VALUE = frozenset(
    {"--cfg", "-c", "--package", "-p", "--info", "-i", "--config-path", "-cp", "--config-name", "-cn"}
    | {"--config-dir", "-cd", "--experimental-rerun"}
)
WITHOUT_VALUE = frozenset(
    {"--help", "-h", "--hydra-help", "--version", "--resolve", "--run", "-r", "--multirun", "-m"}
    | {"--shell-completion", "-sc"}
)
BOUND = re.compile(r"filter(\.filters\.\w+)*\.(minimum|maximum|rank)")
OVERRIDE = re.compile(r"[~+]*[\w.$/@:-]+=|[~=]")  # how a separate override begins
COUNT = re.compile(r"(\d[\d_]*(?:\.\d*)?(?:e\d+)?)([km]?)", re.IGNORECASE)  # 50000, 250k, 1.5m, 2e5
NO_NAME = re.compile(r"null|true|false|nan|[+-]?inf|-?\d+(\.\d+)?", re.IGNORECASE)  # Hydra reads no text here
UNQUOTED = re.compile(r"[A-Za-z0-9_/\\.:@%+*?| -]*")  # what Hydra reads without quotes
PATH = re.compile(r"(/|\.\.?/|[a-z0-9+]+://)[^,\[\]{}\"$]*")

MAX_CHARACTERS = 4_096  # of a value: the longest path that Linux opens; Python reads integers of 4,300 digits
MAX_NAME = 200  # characters of the name of a setting; Hydra looks for a file of that name
MAX_DEPTH = 20  # nested lists and mappings; Hydra's parser calls itself for each
MAX_ARGUMENTS = 1_000


def normalised(arguments: Sequence[str]) -> list[str]:
    """Return the arguments of a command as Hydra reads them.

    Raises `UserError` if an argument is too long or too deeply nested, is not a setting, or has an impossible value.
    """
    if len(arguments) > MAX_ARGUMENTS:
        raise UserError(f"a command must have at most {MAX_ARGUMENTS:,} arguments, not {len(arguments):,}")
    for argument in arguments:
        name, _, value = argument.partition("=")
        if len(name) > MAX_NAME:
            raise UserError(f"{name[:40]}...: a setting's name must have at most {MAX_NAME} characters")
        if len(value) > MAX_CHARACTERS:
            limit = f"at most {MAX_CHARACTERS:,} characters, not {len(value):,}"
            raise UserError(
                f"{name} must have {limit}; put a longer list in a config of your own (--config-dir)"
            )
        depths = accumulate((c in "[{(") - (c in "]})") for c in value)
        if name not in FREE_TEXT and max(depths, default=0) > MAX_DEPTH:
            raise UserError(f"{name} must be nested at most {MAX_DEPTH} deep")
    return [_rewritten(argument) for argument in _joined(arguments)]


def _joined(arguments: Sequence[str]) -> list[str]:
    """Return whole overrides: ``filter=a, b`` and ``--filter icc`` become one argument each."""
    joined: list[str] = []
    for token in arguments:
        option, before = token.partition("=")[0], joined[-1] if joined else ""
        if option in WITH_VALUE or option in WITHOUT_VALUE:
            joined.append(token)
        elif token.startswith("--") and len(token) > 2:
            joined.append(f"{option[2:].replace('-', '_')}={token.partition('=')[2]}")
        elif OVERRIDE.match(token) or (before in WITH_VALUE and not token.startswith("-")):
            joined.append(token)
        elif (
            "=" in before
            and (before[-1] in ",=" or token[:1] == ",")
            and before.split("=")[0] not in FREE_TEXT
        ):
            joined[-1] += token
        else:
            raise UserError(_not_a_setting(token, before))
    return joined


def _not_a_setting(token: str, before: str) -> str:
    """Return the error of a token that is neither an override nor an option."""
    for group in ("task", "filter", "size", "pool", *GROUPS):
        if token in shipped_names(group):
            return f"{token!r} names no setting; did you mean {group}={token}?"
    if token in GROUPS:
        return (
            f"{token} needs a value: {token}=NAME, and `python -m benchmark --help {token}` lists the names"
        )
    if token == "help":
        return "'help' names no setting; did you mean --help?"
    if "=" in before and not token.startswith("-"):
        return f"{token!r} names no setting; put quotes around a value with spaces: '{before} {token}'"
    return (
        f"{token!r} names no setting; write NAME=VALUE, and `python -m benchmark --help` lists what there is"
    )


def _rewritten(argument: str) -> str:
    """Return one argument in Hydra's spelling."""
    name, equals, value = argument.partition("=")
    if name.startswith("-") or not equals:
        return argument
    name = NESTED_GROUPS.get(name, name)
    if not name:
        raise UserError(f"{argument} names no setting; write NAME=VALUE")
    if name.startswith("pool.columns") or BOUND.fullmatch(name):  # which configs need not list
        name = f"++{name}"
    in_quotes = len(value) > 1 and value[0] == value[-1] and value[0] in "'\""
    if name in FREE_TEXT:
        return argument if in_quotes or value in ("", "null") else f"{name}={_quoted(value)}"
    value = value.strip(", ")
    if value[:1] in ("'", '"'):
        return f"{name}={value}"
    group = name.lstrip("+").partition("@")[0]
    if value.startswith("[") and value.endswith("]") and group in {*GROUPS, "seed", "budget"} - COMBINED:
        value = value[1:-1]  # a sweep
    if group in ("size", "size.samples", "budget"):
        return _counts(name, value)
    if group == "seed" and (span := re.fullmatch(r"(\d+)(:|-|\.\.)(\d+)", value)):
        listed = ",".join(map(str, range(int(span[1]), int(span[3]) + 1)[:10]))
        raise UserError(f"seed={value} must be an integer; to sweep over seeds write seed={listed}")
    if group in GROUPS and NO_NAME.fullmatch(value):
        raise UserError(f"{name}={value} is unknown; {did_you_mean(value, shipped_names(group))}")
    value = re.sub(r"(?<![^,\[])~(?=/|$)", str(user_path("~")).replace("\\", r"\\"), value)
    is_pattern = name in LOCATIONS and "$" not in value and re.search(r"[{&=]", value)
    special = PATH.fullmatch(value) and not UNQUOTED.fullmatch(value)
    return f"{name}={_quoted(value) if is_pattern or special else value}"


def _quoted(value: str) -> str:
    """Return a value in quotes, which Hydra takes literally."""
    # Hydra unescapes backslashes only before a quote; OmegaConf reads an unescaped ${ as an interpolation.
    value = re.sub(r"(\\*)\$\{", lambda m: m[1] * 2 + "\\${", value)
    return '"' + re.sub(r'(\\*)("|$)', lambda m: m[1] * 2 + ('\\"' if m[2] else ""), value) + '"'


def _counts(name: str, value: str) -> str:
    """Return the override of sizes or budgets: sizes by the names of their configs if all have one, else numbers."""
    counts = [_count(name, part.strip()) for part in value.split(",")]
    numbers = [count for count in counts if count is not None]
    if len(numbers) < len(counts):
        return f"{name}={value}"  # names of other configs, or unknown
    known = {_count(name, config): config for config in shipped_names("size")}
    if name == "size" and set(numbers) <= set(known):
        return f"size={','.join(known[number] for number in numbers)}"
    return f"{'budget' if name == 'budget' else 'size.samples'}={','.join(map(str, numbers))}"


def _count(name: str, text: str) -> int | str | None:
    """Return the number that ``200k``, ``1.5m`` or ``50000`` means; ``all`` is a size; None for other texts.

    Raises `UserError` for a number, or null, that cannot be a size or budget.
    """
    if text == ALL and name != "budget":
        return ALL
    match = COUNT.fullmatch(text)
    number = float(match[1]) * {"": 1, "k": 1e3, "m": 1e6}[match[2].lower()] if match else 0.0
    if number >= 1 and number.is_integer():
        return int(number)
    if match or not text or NO_NAME.fullmatch(text):
        raise UserError(f"{name.split('.')[0]}={text} must be a number, such as 200k, 1.5m or 50000")
    return None
