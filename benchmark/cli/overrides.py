"""Rewrites what people type, ``--filter icc``, ``size=250k``, ``filter=[random,clip]``, in Hydra's spelling.

Everything here is done before Hydra sees the arguments. An argument that cannot be a setting is refused in one line.
"""

import re
from argparse import ArgumentError, ArgumentParser
from collections.abc import Sequence

from hydra.core.override_parser.overrides_parser import OverridesParser
from hydra.core.override_parser.types import Glob, Override
from omegaconf import OmegaConf
from omegaconf.errors import OmegaConfBaseException

from benchmark.core.errors import UserError, did_you_mean
from benchmark.core.paths import user_path
from benchmark.run.config import ALL, CONF, PERCENT, shipped_names

GROUPS = tuple(sorted(path.name for path in CONF.iterdir() if path.is_dir()))
NESTED_GROUPS = {"icc.reading": "icc/reading"}  # typed like a setting
# A list of configs of these groups is one choice, not a sweep.
COMBINED = frozenset({"downstream", "evalset", "metrics"})
COUNTS = {"size": "size.samples", "size.samples": "size.samples", "budget": "budget"}  # as numbers
NUMBERS = (*COUNTS, "seed")
FREE_TEXT = frozenset({"task.explain"})  # settings that take a sentence
LOCATIONS = frozenset({"pool.url", "results_dir", "task.output"})  # which may have braces and queries
BOUND = re.compile(r"(filter|task)(\.filters\.\w+)+\.(minimum|maximum|rank)")  # of a part of a filter
OVERRIDE = re.compile(r"[~+]*[\w.$/@:-]+=|[~=]")  # how a separate override begins
COUNT = re.compile(r"(\d+(?:_\d+)*(?:\.\d*)?(?:e\d+)?)([km]?)", re.IGNORECASE)  # 50000, 250k, 1.5m, 2e5
NO_NAME = re.compile(r"null|true|false|nan|[+-]?inf|-?\d+(\.\d+)?", re.IGNORECASE)  # Hydra reads no text here
UNQUOTED = re.compile(r"[A-Za-z0-9_/\\.:@%+*?| -]*")  # what Hydra reads without quotes
# Of the environment; settings of text keep them.
RESOLVED = re.compile(r"\$\{oc\.(?:[^{}]|\$\{[^{}]*\})*\}")
NESTED = re.compile(r"\$\{[^{}\"]*\$\{[^{}\"]*\}[^{}\"]*\}")  # which Hydra reads in quotes
PATH = re.compile(r"(/|\.\.?/|[a-z0-9+]+://)[^,\[\]{}\"$]*")


# Hydra's options, which may be between settings; its own parser takes settings only in one piece.
OPTIONS = ArgumentParser(add_help=False, allow_abbrev=False, exit_on_error=False)
_ACTIONS = OPTIONS.add_mutually_exclusive_group()
_ACTIONS.add_argument("--cfg", "-c", choices=["job", "hydra", "all"])
_INFOS = ["all", "config", "defaults", "defaults-tree", "plugins", "searchpath"]
_ACTIONS.add_argument("--info", "-i", nargs="?", const="all", choices=_INFOS)
for _long, _short in {"run": "r", "multirun": "m", "shell-completion": "sc"}.items():
    _ACTIONS.add_argument(f"--{_long}", f"-{_short}", action="store_true")
for _long, _short in {"package": "p", "config-path": "cp", "config-name": "cn", "config-dir": "cd"}.items():
    OPTIONS.add_argument(f"--{_long}", f"-{_short}")
for _long in ("--resolve", "--hydra-help"):
    OPTIONS.add_argument(_long, action="store_true")


def normalised(arguments: Sequence[str]) -> list[str]:
    """Return the arguments of a command as Hydra reads them: settings, then options.

    Raises `UserError` if an argument is not a setting, or has an impossible value.
    """
    try:
        options, settings = OPTIONS.parse_known_args(arguments)
    except ArgumentError as error:
        raise UserError(str(error)) from None
    if (options.resolve or options.package) and not options.cfg:
        raise UserError("--resolve and --package must be with --cfg job")
    shells = re.compile(r"(un)?install=(bash|zsh|fish)$|query=")
    if options.shell_completion and not any(map(shells.match, settings)):
        raise UserError("--shell-completion must be with install=SHELL or uninstall=SHELL: bash, zsh or fish")
    given = {f"--{name.replace('_', '-')}": value for name, value in vars(options).items() if value}
    flags = [option if value is True else f"{option}={value}" for option, value in given.items()]
    whole = (override for argument in _joined(settings) for override in _compared_filters(argument))
    return [*map(_rewritten, whole), *flags]


def _joined(arguments: Sequence[str]) -> list[str]:
    """Return whole overrides: ``filter=a, b`` and ``--filter icc`` become one argument each."""
    joined: list[str] = []
    for token in arguments:
        before = joined[-1] if joined else ""
        name, equals, _ = before.partition("=")
        if token.startswith("--") and len(token) > 2:
            option, _, value = token[2:].partition("=")
            joined.append(f"{option.replace('-', '_')}={value}")
        elif OVERRIDE.match(token):
            joined.append(token)
        elif equals and name not in FREE_TEXT and (before[-1] in ",=" or token[:1] == ","):
            joined[-1] += token
        else:
            raise UserError(_not_a_setting(token, before))
    return joined


def _compared_filters(argument: str) -> list[str]:
    """Return an override for each filter that ``task.filters=[icc,mine=score_file]`` lists, else the argument."""
    setting, _, value = argument.partition("=")
    if setting != "task.filters":
        return [argument]
    chosen: dict[str, str] = {}
    for part in value.removeprefix("[").removesuffix("]").split(","):
        name, _, config = part.strip().rpartition("=")
        name = name or re.split("[.:]", config)[-1]
        if not re.fullmatch(r"[A-Za-z]\w*", name) or not config or name in chosen:
            raise UserError(
                f"{argument} must list filters, each by another name, such as [icc,clip] or"
                " [icc,people=score_file]"
            )
        chosen[name] = config
    return [f"+filter@task.filters.{name}={config}" for name, config in chosen.items()]


def _not_a_setting(token: str, before: str) -> str:
    """Return the error of a token that is neither an override nor an option."""
    for group in ("task", "filter", "size", "pool", *GROUPS):
        if token in shipped_names(group):
            return f"{token!r} names no setting; did you mean {group}={token}?"
    if token in GROUPS:
        return f"{token} needs a value: {token}=NAME; `python -m benchmark --help {token}` lists the names"
    if "=" in before and not token.startswith("-"):
        return f"{token!r} names no setting; put quotes around a value with spaces: '{before} {token}'"
    return f"{token!r} names no setting; write NAME=VALUE; `python -m benchmark --help` lists what there is"


def _rewritten(argument: str) -> str:
    """Return one argument in Hydra's spelling."""
    name, equals, value = argument.partition("=")
    if not equals:
        return argument
    name = NESTED_GROUPS.get(name, name)
    if not name:
        raise UserError(f"{argument} names no setting; write NAME=VALUE")
    if need_not_exist(name):
        name = f"++{name}"
    in_quotes = len(value) > 1 and value[0] == value[-1] and value[0] in "'\""
    if name in FREE_TEXT:
        return argument if in_quotes or value in ("", "null") else f"{name}={quoted(value)}"
    value = value.strip(", ")
    if value[:1] in ("'", '"'):
        return f"{name}={value}"
    group = name.lstrip("+").partition("@")[0]
    if group in {*GROUPS, *NUMBERS}:
        value = _chosen(name, group, value)
    if group in COUNTS:
        return _counts(name, value)
    value = re.sub(r"(?<![^,\[])~(?=/|$)", str(user_path("~")).replace("\\", r"\\"), value)
    is_pattern = name in LOCATIONS and "$" not in value and re.search(r"[{&=]", value)
    special = PATH.fullmatch(value) and not UNQUOTED.fullmatch(value)
    if NESTED.fullmatch(value):
        return f'{name}="{value}"'
    return f"{name}={quoted(value) if is_pattern or special else value}"


def need_not_exist(name: str) -> bool:
    """Return whether configs need not list a setting."""
    return name.startswith("pool.columns") or BOUND.fullmatch(name) is not None


def quoted(value: str) -> str:
    """Return a value in quotes, which Hydra takes literally."""
    # Hydra unescapes backslashes only before a quote; OmegaConf reads an unescaped ${ as an interpolation.
    value = re.sub(r"(\\*)\$\{", lambda m: m[1] * 2 + "\\${", value)
    return '"' + re.sub(r'(\\*)("|$)', lambda m: m[1] * 2 + ('\\"' if m[2] else ""), value) + '"'


def _chosen(name: str, group: str, value: str) -> str:
    """Return the names of configs, or numbers, that are chosen. Raises `UserError` for what cannot be one."""
    if group in GROUPS and group != "size" and (re.fullmatch(r"\[\s*\]|", value) or value[:1] == "{"):
        listed = f"`python -m benchmark --help {group}` lists them"
        raise UserError(f"{name}={value} must be the name of a config; {listed}")
    if value.startswith("[") and value.endswith("]") and group not in COMBINED:
        value = value[1:-1]  # a sweep
    try:
        value = RESOLVED.sub(lambda found: str(OmegaConf.create({"value": found[0]}).value), value)
    except OmegaConfBaseException:
        raise UserError(f"{name}={value} must name an environment variable that is set") from None
    for part in [] if group in NUMBERS else re.split(r"[,()\[\]]", value):
        if NO_NAME.fullmatch(part.strip()):
            raise UserError(f"{name}={part} is unknown; {did_you_mean(part, shipped_names(group))}")
    return value


def parse_overrides(overrides: Sequence[str]) -> list[Override]:
    """Return overrides as Hydra's grammar reads them."""
    return OverridesParser.create().parse_overrides(list(overrides))


def sweep_values(override: Override) -> list[str]:
    """Return the values that an override gives to its setting, one per run. Raises `UserError` for an interval."""
    value = override.value()
    if override.is_interval_sweep():
        raise UserError(
            f"{override.input_line} must be single values, such as range(1,5); only optimisers draw from an interval"
        )
    if isinstance(value, Glob):
        if names := value.filter(shipped_names(override.key_or_group)):
            return names
        raise UserError(f"{override.input_line} must be a pattern that names of configs fit, such as glob(*)")
    if override.is_discrete_sweep():
        return list(override.sweep_string_iterator())
    return [override.get_value_element_as_str()]


def _counts(name: str, value: str) -> str:
    """Return the override of sizes or budgets: sizes by the names of their configs if all have one, else numbers."""
    if "(" in value:  # a function of Hydra
        value = ",".join(sweep_values(*parse_overrides([f"{name}={value}"])))
    parts = [part.strip("'\" ") for part in value.split(",")]
    counts = [parse_count(name, part) for part in parts]
    numbers = [count for count in counts if count is not None]
    if name == "size" and set(numbers) <= set(SIZES):
        return f"size={','.join(SIZES.get(count, part) for count, part in zip(counts, parts, strict=True))}"
    if not numbers:
        return f"{name}={value}"
    if len(numbers) < len(counts):
        raise UserError(f"{name}={value} must be numbers, such as 200k, 1.5m or 50000")
    return f"{COUNTS[name]}={','.join(map(str, numbers))}"


def parse_count(name: str, text: str) -> int | str | None:
    """Return the number that ``200k``, ``1.5m`` or ``50000`` means; ``all`` and ``10%`` are sizes, too.

    None for other texts. Raises `UserError` for a number, or null, that cannot be a size or budget.
    """
    if name != "budget" and (text == ALL or re.fullmatch(PERCENT, text)):
        return text
    match = COUNT.fullmatch(text)
    number = float(match[1]) * {"": 1, "k": 1e3, "m": 1e6}[match[2].lower()] if match else 0.0
    if number >= 1 and number.is_integer():
        return int(number)
    if match or not text or NO_NAME.fullmatch(text):
        must = "must be a whole number of samples above 0, such as 200k, 1.5m or 50000"
        if name != "budget":
            must = must.replace("samples", "pairs") + ", a percentage such as 10%, or all"
        raise UserError(f"{name.split('.')[0]}={text} {must}")
    return None


SIZES = {parse_count("size", config): config for config in shipped_names("size")}
