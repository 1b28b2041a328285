"""Mistakes of the user: one line for each, with the right spelling, and the end of the command."""

import errno
import re
import shlex
import sys
import traceback
from collections.abc import Callable, Iterator, Sequence
from difflib import get_close_matches
from typing import NoReturn

from hydra import compose, initialize_config_dir
from hydra.core.global_hydra import GlobalHydra
from hydra.errors import HydraException, InstantiationException, OverrideParseException
from omegaconf import DictConfig, OmegaConf
from omegaconf.errors import OmegaConfBaseException

from benchmark.cli.overrides import GROUPS
from benchmark.core.paths import remote_paths
from benchmark.core.sanitize import redact, visible
from benchmark.core.source_code import own_place
from benchmark.run.config import CONF, USER_ERRORS, WAYS_ON, explain

# Among settings with equal names, the settings of these groups come first.
FIRST = ("downstream", "filter", "task", "pool", "evalset", "selector")
MOST = 3  # names that one line suggests
TWICE = "{0} is chosen already; write {0}=NAME once, no plus"
# Hydra's messages, and ours.
ANSWERS = {
    r"Could not append to config\. An item is already at '([^']+)'": "{0} is a setting; write {0}=VALUE, no plus",
    r"Multiple values for ([\w/]+)\.": TWICE,
    r"([\w/]+) appears more than once in the final defaults list": TWICE,
    r"Ambiguous value for argument '([^'=]+)=": "--cfg shows the settings of one run; give {0} one value",
    r"Error resolving interpolation '([^']+)'": "{0} is not known yet where configs are chosen; write its value",
    r"Unexpected type (annotation)": "choice(...), range(...) and the like must be the whole value of a setting",
    r"Cannot find primary config '([^']+)'": "there is no config {0!r}; leave --config-name out",
    r"Additional config directory '([^']+)' not found": "--config-dir {0} must be a folder with configs",
}
ALL = "`python -m benchmark --cfg job` shows all settings"


def end_with_mistakes(*lines: str, exit_code: int = 2) -> NoReturn:
    """Write a line per mistake to stderr, without credentials and control characters, and exit."""
    for line in lines:
        prefix = "" if line == WAYS_ON else "error: "
        sys.stderr.write(f"{prefix}{visible(redact(remote_paths(' '.join(line.split()))))}\n")
    sys.exit(exit_code)


def end_with_error(error: Exception, explain_lines: Callable[[Exception], Sequence[str]]) -> NoReturn:
    """End with the lines on a mistake of the user, or with the traceback of any other error, without credentials."""
    own = own_bug(error)
    if isinstance(error, OSError) and error.errno == errno.ENAMETOOLONG:
        end_with_mistakes(f"{error.strerror}: {error.filename}")
    if isinstance(error, USER_ERRORS) and not own:
        try:
            lines = explain_lines(error)
        except InstantiationException:
            pass  # of another error than the user's
        else:
            end_with_mistakes(*lines)
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
        return _unreadable(error.override)
    if unknown := re.match(r"Could not (?:override|delete from config\.) '([^']+)'", text):
        return _unknown(unknown[1], arguments)
    for pattern, line in ANSWERS.items():
        if match := re.match(pattern, text):
            return line.format(match[1])
    return explain(error)


def _unreadable(override: str) -> str:
    name, _, value = override.partition("=")
    if re.fullmatch(r"[~+]*[\w./@:-]+", name) and value:
        quoted = value.strip("'\"").replace('"', '\\"')
        written = shlex.quote(f'{name}="{quoted}"')
        return f"{override} cannot be read; put quotes around special characters: {written}"
    return f"{override} cannot be read; write NAME=VALUE"


def _unknown(name: str, arguments: Sequence[str]) -> str:
    """Return the message for an unknown setting, with the names that could be meant."""
    if name in GROUPS:
        return f"{name} takes the name of a config; `python -m benchmark --help {name}` lists them"
    # A misspelt group is answered without another composition.
    group = [] if "." in name else get_close_matches(name, GROUPS, n=1)
    suggestions = group or _meant(name, list(_names(_composed(name, arguments))))
    value = next((a.partition("=")[2] for a in arguments if a.startswith(f"{name}=")), None)
    meant = " or ".join(f"{suggestion}={value}" if value else suggestion for suggestion in suggestions)
    hint = f"did you mean {meant}?" if meant else ALL
    return f"there is no setting {name!r}; {hint}"


def _meant(name: str, known: Sequence[str]) -> list[str]:
    """Return the names that `name` may mean, the likeliest first."""
    parent, _, last = name.rpartition(".")
    siblings = [other.rpartition(".")[2] for other in known if other.rpartition(".")[0] == parent]
    if close := get_close_matches(last, siblings, n=1):
        return [f"{parent}.{close[0]}".lstrip(".")]
    ranks = {group: rank for rank, group in enumerate(FIRST)}
    same = [other for other in known if other.rpartition(".")[2] == last]
    same.sort(key=lambda other: ranks.get(other.partition(".")[0], len(FIRST)))
    return same[:MOST] or get_close_matches(name, known, n=1)


def _composed(name: str, arguments: Sequence[str]) -> DictConfig:
    """Return the configuration of a command without the setting `name`; the default one if more is wrong."""
    others = [a for a in arguments if "=" in a and not a.startswith("-")]
    given = [a for a in others if a.lstrip("+~").partition("=")[0] != name]
    GlobalHydra.instance().clear()
    with initialize_config_dir(str(CONF), version_base="1.3"):
        try:
            return compose("config", given)
        except (HydraException, OmegaConfBaseException):
            return compose("config")


def _names(node: DictConfig, prefix: str = "") -> Iterator[str]:
    """Yield the dotted names of all settings."""
    for key in map(str, node):
        if key.startswith("_") or (prefix == "task." and key == "name"):  # no settings
            continue
        yield f"{prefix}{key}"
        plain = not OmegaConf.is_missing(node, key) and not OmegaConf.is_interpolation(node, key)
        if plain and isinstance(node[key], DictConfig):
            yield from _names(node[key], f"{prefix}{key}.")
