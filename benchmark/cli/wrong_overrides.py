"""One line for each error of Hydra's about what was typed, with the right spelling."""

import re
from collections.abc import Iterator, Sequence
from difflib import get_close_matches

from hydra import compose, initialize_config_dir
from hydra.core.global_hydra import GlobalHydra
from hydra.core.override_parser.overrides_parser import OverridesParser
from hydra.errors import HydraException, OverrideParseException
from omegaconf import DictConfig, OmegaConf
from omegaconf.errors import OmegaConfBaseException

from benchmark.cli.overrides import GROUPS, settings_given
from benchmark.run.config import CONF, explain

# Of settings with equal names, those below these come first.
FIRST = ("downstream", "filter", "task", "pool", "evalset", "selector")
MOST = 3  # names that one line suggests
# Hydra's messages, and ours.
ANSWERS = {
    r"Could not append to config\. An item is already at '([^']+)'": "{0} is a setting; write {0}=VALUE, no plus",
    r"Multiple values for ([\w/]+)\.": "{0} is chosen already; write {0}=NAME once, no plus",
    r"Ambiguous value for argument '([^'=]+)=": "--cfg shows the settings of one run; give {0} one value",
    r"Cannot find primary config '([^']+)'": "there is no config {0!r}; leave --config-name out",
}
ALL = "`python -m benchmark --cfg job` shows all settings"


def explain_command(error: Exception, arguments: Sequence[str]) -> str:
    """Return a one-line message for an error that the user caused; `arguments` are those of the command.

    Any other error is raised again.
    """
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
        return f"{override} cannot be read; put quotes around special characters: '{name}=\"{quoted}\"'"
    return f"{override} cannot be read; write NAME=VALUE"


def _unknown(name: str, arguments: Sequence[str]) -> str:
    """Return the message for a setting that there is not, with the names that could be meant."""
    if name in GROUPS:
        return f"{name} takes the name of a config; `python -m benchmark --help {name}` lists them"
    # A misspelt group is answered without a second composition.
    group = [] if "." in name else get_close_matches(name, GROUPS, n=1)
    suggestions = group or _meant(name, list(_names(_composed(name, arguments))))
    value = _value(name, arguments)
    meant = " or ".join(f"{suggestion}={value}" if value else suggestion for suggestion in suggestions)
    hint = f"did you mean {meant}?" if meant else ALL
    return f"there is no setting {name!r}; {hint}"


def _value(name: str, arguments: Sequence[str]) -> str:
    """Return the value that a command gives to the setting `name`; empty if it gives none."""
    values = (a.partition("=")[2] for a in settings_given(arguments) if a.partition("=")[0] == name)
    return next(values, "")


def _meant(name: str, known: Sequence[str]) -> list[str]:
    """Return the names that `name` may stand for, the likeliest first."""
    parent, _, last = name.rpartition(".")
    beside = [other.rpartition(".")[2] for other in known if other.rpartition(".")[0] == parent]
    if close := get_close_matches(last, beside, n=1):
        return [f"{parent}.{close[0]}".lstrip(".")]
    ranks = {group: rank for rank, group in enumerate(FIRST)}
    same = [other for other in known if other.rpartition(".")[2] == last]
    same.sort(key=lambda other: ranks.get(other.partition(".")[0], len(FIRST)))
    return same[:MOST] or get_close_matches(name, known, n=1)


def _composed(name: str, arguments: Sequence[str]) -> DictConfig:
    """Return the configuration of a command without the setting `name`, and without what else is wrong or swept."""
    kept = []
    for argument in settings_given(arguments):
        try:
            override = OverridesParser.create().parse_override(argument)
        except HydraException:
            continue
        if override.key_or_group != name and not override.is_sweep_override():
            kept.append(argument)
    GlobalHydra.instance().clear()
    with initialize_config_dir(str(CONF), version_base="1.3"):
        try:
            return compose("config", kept)
        except (HydraException, OmegaConfBaseException):
            return compose("config")


def _names(node: DictConfig, prefix: str = "") -> Iterator[str]:
    """Yield the dotted names of all settings."""
    for key in map(str, node):
        if key.startswith("_"):
            continue
        yield f"{prefix}{key}"
        if not OmegaConf.is_missing(node, key) and not OmegaConf.is_interpolation(node, key):
            child = node[key]
            if isinstance(child, DictConfig):
                yield from _names(child, f"{prefix}{key}.")
