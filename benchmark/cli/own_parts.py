"""Parts from outside the repository: ``filter=my_module:MyFilter``, or a name that an installed package brings.

Parts are filters, selectors, metrics, downstream models, evaluation sets and tasks: the groups in `BASES`.
"""

import functools
import importlib
import inspect
import json
import re
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

from hydra.core.config_store import ConfigStore

from benchmark.cli.mistakes import own_bug
from benchmark.core.errors import UserError, did_you_mean
from benchmark.core.source_code import OWN_MODULES
from benchmark.run.config import BASES, UNBOUNDED, installed_parts, is_kind, require_kind, shipped_names

# Also a part of a filter: filter@filter.filters.a=...
PART = re.compile(rf"(?P<key>\+?(?P<group>{'|'.join(BASES)})(@[\w.]+)?)=(?P<names>.*)")
NAME = re.compile(r"[^\s,()\[\]'\"]+")  # of one part in a list or a sweep


def name_own_parts(arguments: Sequence[str]) -> list[str]:
    """Return the arguments with the object's name in place of each ``module:Object`` that a group is set to.

    Hydra then finds the object under this name, with its arguments as settings. Names of parts that installed
    packages bring stay as they are. Raises `UserError` if an object cannot be imported, is of another kind, or has
    the name of another part.
    """
    targets: dict[tuple[str, str], str] = {}  # by group and name, of this command
    replaced = []
    for argument in arguments:
        if (override := PART.fullmatch(argument)) and override["names"][:1] not in ("{", "$"):
            name_part = functools.partial(_config_name, override["group"], targets)
            argument = f"{override['key']}={NAME.sub(name_part, override['names'])}"
        replaced.append(argument)
    return replaced


def _config_name(group: str, targets: dict[tuple[str, str], str], match: re.Match[str]) -> str:
    """Return the name under which Hydra finds the part that is given; a part that is not ours is stored for it."""
    given, shipped = match[0], shipped_names(group)
    if given in shipped:
        return given
    typed, how = f"{group}={given}", f"write {group}=MODULE:NAME, such as {group}=my_module:Mine"
    installed = {(point.name, f"{point.module}:{point.attr}") for point in installed_parts(group)}
    if ":" in given:
        name, target = re.split("[.:]", given)[-1], given
        others = [*shipped, *(other for other, of_other in installed if of_other != target)]
        taken = next((other for other in others if other.casefold() == name.casefold()), None)
        if taken:
            raise UserError(f"{typed}: {taken!r} is the name of another {group}; rename yours")
    else:
        known = sorted(target for name, target in installed if name == given)
        if not known:
            return given  # of a --config-dir, or misspelt: Hydra answers
        if len(known) > 1:
            raise UserError(f"{typed} is the name of {' and of '.join(known)}; {how}")
        name, target = given, known[0]
    if targets.setdefault((group, name), target) != target:
        raise UserError(f"{typed}: this command has another {group} {name!r}; rename one of them")
    module, _, attribute = target.partition(":")
    made = _part(group, typed, module, attribute, how)
    package, settings = _config(group, typed, name, made)
    ConfigStore.instance().store(name, {"_target_": f"{module}.{attribute}"} | settings, group, package)
    return name


def _part(group: str, typed: str, module: str, attribute: str, how: str) -> Any:
    """Import a part. Raises `UserError` unless it is there and is of its kind."""
    found = _module(typed, module, how)
    try:
        made = getattr(found, attribute)
    except AttributeError:
        defined = [n for n, v in vars(found).items() if is_kind(group, v) and v.__module__ == module]
        hint = did_you_mean(attribute, defined) if defined else how
        where = getattr(found, "__file__", "built in")
        raise UserError(f"{typed}: {module} ({where}) has no {attribute!r}; {hint}") from None
    require_kind(group, f"{typed}: {attribute}", made)
    if inspect.isabstract(made):
        raise UserError(f"{typed}: {attribute} must define {', '.join(sorted(made.__abstractmethods__))}")
    return made


def _module(typed: str, name: str, how: str) -> Any:
    """Import a module. Raises `UserError` with whatever kept it from being imported, and its place."""
    if not re.fullmatch(r"\w+(\.\w+)*", name) or name.endswith(".py"):
        raise UserError(f"{typed}: {name!r} is not the name of a module; {how}")
    OWN_MODULES.add(name.partition(".")[0])
    try:
        return importlib.import_module(name)
    except Exception as error:
        if isinstance(error, ModuleNotFoundError) and f"{name}.".startswith(f"{error.name}."):
            raise UserError(
                f"{typed}: there is no module {error.name} in {Path.cwd()}, nor is one installed; {how}"
            ) from None
        raise UserError(f"{typed} cannot be imported: {own_bug(error) or error}") from error


def _config(group: str, typed: str, name: str, made: Any) -> tuple[str | None, dict[str, Any]]:
    """Return the package and the settings of a part's config, as files in ``conf`` have them."""
    if group == "task":
        return None, {"name": name}
    settings = _arguments(group, typed, made)
    key: Any = name.lower()
    if group == "evalset" and "name" in settings:
        settings["name"] = key
    if group == "downstream":
        key = getattr(made, "name", None)
        if not isinstance(key, str):
            raise UserError(f'{typed}: {made.__name__} must have a name, such as name = "{name.lower()}"')
        if settings.pop("training", None):
            settings = {"defaults": [{"/training@training": "default"}, "_self_"], **settings}
    return (f"{group}.{key}" if group in ("downstream", "evalset", "metrics") else None), settings


def _arguments(group: str, typed: str, made: Any) -> dict[str, Any]:
    """Return a part's arguments with their defaults as settings; `seed` is the run's, as in our own filters."""
    settings = {}
    for name, parameter in inspect.signature(made).parameters.items():
        if name == "family" or (group == "filter" and name in UNBOUNDED):  # constructors do not get them
            raise UserError(
                f"{typed}: its argument {name!r} needs another name; it is a setting of every filter"
            )
        if parameter.kind in (parameter.VAR_POSITIONAL, parameter.VAR_KEYWORD):
            continue
        if parameter.default is parameter.empty:
            settings[name] = "???"
        else:
            with suppress(TypeError):  # a default that YAML cannot write stays the part's
                json.dumps(parameter.default)
                settings[name] = parameter.default
    return settings | ({"seed": "${seed}"} if "seed" in settings else {})
