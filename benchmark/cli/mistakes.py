"""Mistakes of the user: one line for each, with the right spelling, and the end of the command."""

import errno
import os
import re
import shlex
import sys
import traceback
from collections.abc import Iterator, Sequence
from difflib import get_close_matches
from typing import NoReturn

from hydra import compose, initialize_config_dir
from hydra.core.global_hydra import GlobalHydra
from hydra.errors import InstantiationException, OverrideParseException
from omegaconf import DictConfig, OmegaConf

from benchmark.cli.overrides import GROUPS, normalised
from benchmark.core.errors import MistakesError
from benchmark.core.launch import torch_distributed
from benchmark.core.paths import remote_paths
from benchmark.core.sanitize import redact, visible
from benchmark.core.source_code import own_place
from benchmark.run.config import CONF, UNBOUNDED, USER_ERRORS, WAYS_ON, explain, shipped_names

# Among settings with equal names, the settings of these groups come first.
FIRST = ("downstream", "filter", "task", "pool", "evalset", "selector")
MOST = 3  # names that one line suggests
HIDDEN = {"family", "after", "heading", "low_is_good"}  # of configs, not for users
TWICE = "{0} is chosen already; write {0}=NAME once, no plus"
# Hydra's messages, and ours.
ANSWERS = {
    r"Could not append to config\. An item is already at '([^']+)'": "{0} is a setting; write {0}=VALUE, no plus",
    r"Multiple values for ([\w/]+)\.": TWICE,
    r"([\w/]+) appears more than once in the final defaults list": TWICE,
    r"Ambiguous value for argument '([^'=]+)=": "--cfg and --help show the settings of one run; give {0} one value",
    r"Error resolving interpolation '([^']+)'": "{0} is not known yet where configs are chosen; write its value",
    r"Unexpected type (annotation)": "choice(...), range(...) and the like must be the whole value of a setting",
    r"Cannot find primary config '([^']+)'": "there is no config {0!r}; leave --config-name out",
    r"Additional config directory '([^']+)' not found": "--config-dir {0} must be a folder with configs",
}
ALL = "`python -m benchmark --cfg job` shows all settings"


def end_with_mistakes(*lines: str, exit_code: int = 2) -> NoReturn:
    """Write a line per mistake to stderr, without credentials and control characters, and exit.

    Processes of a launch that have not met yet make the same mistake: the first of a machine writes it.
    """
    is_repeated = os.environ.get("LOCAL_RANK", "0") != "0" and not torch_distributed().is_initialized()
    for line in () if is_repeated else lines:
        prefix = "" if line == WAYS_ON else "error: "
        sys.stderr.write(f"{prefix}{visible(redact(remote_paths(' '.join(line.split()))))}\n")
    sys.exit(exit_code)


def end_with_error(error: Exception, arguments: Sequence[str]) -> NoReturn:
    """End with the lines on a mistake of the user, or with the traceback of any other error, without credentials."""
    if isinstance(error, MistakesError):
        end_with_mistakes(*error.lines)
    own = own_bug(error)
    if isinstance(error, OSError) and error.errno == errno.ENAMETOOLONG:
        end_with_mistakes(f"{error.strerror}: {error.filename}")
    if isinstance(error, USER_ERRORS) and not own:
        try:
            line = explain_command(error, arguments)
        except InstantiationException:
            pass  # of another error than the user's
        else:
            end_with_mistakes(line)
    sys.stderr.write(redact("".join(traceback.format_exception(error))))
    end_with_mistakes(*([own] if own else []), exit_code=1)


def own_bug(error: Exception) -> str | None:
    """Return the line on an error of the user's own code, with its place; None for other errors."""
    cause = error.__cause__ if isinstance(error, InstantiationException) and error.__cause__ else error
    place = "" if isinstance(cause, USER_ERRORS) else own_place(error)
    return f"{place}: {type(cause).__name__}: {cause}" if place else None


def name_job(name: str, mistake: str) -> str:
    """Return a job's mistake with the job's name in front; many begin with it already, ``seed=x must be ...``."""
    return mistake if mistake.startswith(f"{name} ") else f"{name}: {mistake}"


def explain_command(error: Exception, arguments: Sequence[str]) -> str:
    """Return a one-line message for a user's error in a command with these arguments; raise any other error again."""
    text = str(error).strip().split("\n")[0]
    if isinstance(error, OverrideParseException):
        name, _, value = error.override.partition("=")
        if not re.fullmatch(r"[~+]*[\w./@:-]+", name) or not value:
            return f"{error.override} cannot be read; write NAME=VALUE"
        text = value.strip("'\"").replace('"', '\\"')
        written = shlex.quote(f'{name}="{text}"')
        return f"{error.override} cannot be read; put quotes around special characters: {written}"
    if unknown := re.match(r"Could not (?:override|delete from config\.) '([^']+)'", text):
        return unknown_setting(unknown[1], arguments)
    for pattern, line in ANSWERS.items():
        if match := re.match(pattern, text):
            return line.format(match[1])
    return explain(error)


def unknown_setting(name: str, arguments: Sequence[str]) -> str:
    """Return the message for an unknown setting, with the settings that could be meant and that take its value."""
    if name in GROUPS:
        return f"{name} takes the name of a config; `python -m benchmark --help {name}` lists them"
    given = [a for a in arguments if "=" in a and not a.startswith("-")]
    others = [a for a in given if a.lstrip("+~").partition("=")[0] != name]
    value = next((a.partition("=")[2] for a in given if a not in others), "")
    refused = ""
    GlobalHydra.instance().clear()
    with initialize_config_dir(str(CONF), version_base="1.3"):
        try:
            known = list(_names(compose("config", others)))
        except USER_ERRORS:  # more is wrong
            others, known = [], list(_names(compose("config")))
        for candidates in _candidates(name, value, known, others):
            problems = {" ".join(typed): _problem(typed, others) for typed in candidates[:MOST]}
            if accepted := [typed.removesuffix("=") for typed, problem in problems.items() if not problem]:
                return f"there is no setting {name!r}; did you mean {' or '.join(accepted)}?"
            refused = refused or next((p for typed, p in problems.items() if " " not in typed), "")
    return f"there is no setting {name!r}; {refused or ALL}"


def _problem(settings: Sequence[str], others: Sequence[str]) -> str:
    """Return why a command with these settings is wrong; empty if it is right."""
    names = [setting.partition("=")[0] for setting in settings]
    if names[0] in GROUPS and ":" in settings[0]:  # a part of the user's: not imported for a suggestion
        return ""
    kept = [other for other in others if other.partition("=")[0] not in names]
    try:
        cfg = compose("config", [*kept, *normalised([s for s in settings if not s.endswith("=")])])
        if names[-1] not in GROUPS:
            from benchmark.cli.check_settings import check_settings  # with pydantic

            check_settings(cfg, names[-1:])
    except USER_ERRORS as error:
        return explain(error)
    return ""


def _candidates(
    name: str, value: str, known: Sequence[str], others: Sequence[str]
) -> Iterator[list[list[str]]]:
    """Yield lists of possible meanings of `name`, likeliest first: a setting each, or a config and its setting."""
    parent, _, last = name.rpartition(".")
    top = name.partition(".")[0]
    if group := "" if parent else next(iter(get_close_matches(name, GROUPS, n=1)), ""):
        if group == "metrics" and "task=report" in others:
            yield [[f"task.columns={value}"]]
        yield [[f"{group}={value}"]]
        close = get_close_matches(value.casefold(), shipped_names(group), n=1)
        yield [[f"{group}={config}"] for config in close]
    ranks = {first: rank for rank, first in enumerate(FIRST)}
    ranked = sorted(known, key=lambda n: (ranks.get(n.partition(".")[0], len(FIRST)), n.count(".")))
    by_last = {other: other.rpartition(".")[2] for other in ranked}
    siblings = [by_last[other] for other in ranked if other.rpartition(".")[0] == parent]
    same = [f"{other}={value}" for other in ranked if by_last[other] == last]
    if not parent:
        yield [[f"{close}={value}"] for close in get_close_matches(last, siblings, n=1)]
        yield [[setting] for setting in same]
    if value and last not in HIDDEN:
        yield [
            [f"{group}={config}", f"{name if parent else f'{group}.{name}'}={value}"]
            for group in ([top] if top in GROUPS else ["task"] if parent else FIRST)
            for config in sorted(_configs_with(last, group), key=lambda config: config not in name.split("."))
        ]
    yield [[f"{parent}.{close}={value}"] for close in get_close_matches(last, siblings, n=1) if parent]
    yield [[setting] for setting in same if setting.startswith(f"{top}.")]
    if top not in FIRST:
        yield [[setting] for setting in same]
        close = get_close_matches(last, set(by_last.values()), n=1, cutoff=0.8)
        yield [[f"{other}={value}"] for other in ranked if by_last[other] in close]


def _configs_with(setting: str, group: str) -> list[str]:
    """Return the configs of a group that have a setting, only the configs that need its value if there are some."""
    line = re.compile(rf"^ *{re.escape(setting)}: *(\??)", re.MULTILINE)
    texts = {path.stem: path.read_text(encoding="utf-8") for path in sorted((CONF / group).glob("*.yaml"))}
    needed = {name: found[1] for name, text in texts.items() if (found := line.search(text))}
    return [name for name in needed if needed[name]] or list(needed)


def _names(node: DictConfig, prefix: str = "") -> Iterator[str]:
    """Yield the dotted names of all settings."""
    for key in map(str, node):
        if key.startswith("_") or key in HIDDEN or (prefix == "task." and key == "name"):  # no settings
            continue
        yield f"{prefix}{key}"
        plain = not OmegaConf.is_missing(node, key) and not OmegaConf.is_interpolation(node, key)
        if plain and isinstance(node[key], DictConfig):
            yield from _names(node[key], f"{prefix}{key}.")
    if ".filters." in prefix and "_target_" in node:
        yield from (f"{prefix}{name}" for name in UNBOUNDED if name not in HIDDEN)
