"""Filters from outside the repository: ``filter=my_module:MyFilter``, or a name that an installed package brings."""

import functools
import importlib
import inspect
import re
import traceback
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from hydra.core.config_store import ConfigStore

from benchmark.core.errors import UserError, did_you_mean
from benchmark.run.config import installed_filters, shipped_names

FILTER = re.compile(r"(?P<key>\+?filter(@[\w.]+)?)=(?P<names>.*)")  # also a part: filter@filter.filters.a=...
NAME = re.compile(r"[^\s,()\[\]'\"]+")  # of one filter in a sweep
HOW = "write filter=MODULE:CLASS, such as filter=my_module:MyFilter for the class MyFilter in my_module.py"


def name_own_filters(arguments: Sequence[str]) -> list[str]:
    """Return the arguments with the class's name in place of each ``module:Class`` that a `filter` is set to.

    Hydra then finds the class under this name, with the arguments of its constructor as settings. Names of filters
    that installed packages bring stay as they are.

    Raises:
        UserError: a class cannot be imported, is not a filter, or has the name of another filter.
    """
    targets: dict[str, str] = {}  # by name, of this command
    replaced = []
    for argument in arguments:
        if (override := FILTER.fullmatch(argument)) and not override["names"].startswith("{"):
            names = NAME.sub(lambda match: _config_name(match[0], targets), override["names"])
            argument = f"{override['key']}={names}"
        replaced.append(argument)
    return replaced


def _config_name(given: str, targets: dict[str, str]) -> str:
    """Return the name under which Hydra finds the filter `given`; a filter that is not ours is stored for it."""
    shipped = shipped_names("filter")
    if given in shipped:
        return given
    installed = {(point.name, f"{point.module}:{point.attr}") for point in installed_filters()}
    if ":" in given:
        name, target = re.split("[.:]", given)[-1], given
        others = [*shipped, *(other for other, of_other in installed if of_other != target)]
        taken = next((other for other in others if other.casefold() == name.casefold()), None)
        if taken:
            raise UserError(f"filter={given}: {taken!r} is the name of another filter; rename the class")
    else:
        classes = sorted(target for name, target in installed if name == given)
        if not classes:
            return given  # of a --config-dir, or misspelt: Hydra answers
        if len(classes) > 1:
            raise UserError(f"filter={given} is the name of {' and of '.join(classes)}; {HOW}")
        name, target = given, classes[0]
    if targets.setdefault(name, target) != target:
        raise UserError(
            f"filter={given}: this command has another filter {name!r}; rename one of the classes"
        )
    module, _, attribute = target.partition(":")
    made = _filter_class(given, module, attribute)
    settings = {"_target_": f"{module}.{attribute}"} | _arguments(given, made)
    ConfigStore.instance().store(name, settings, group="filter")
    return name


def _filter_class(given: str, module: str, attribute: str) -> type:
    """Import the class. Raises `UserError` unless it is there and is a filter."""
    from filters.base import Filter  # imports torch

    found = _module(given, module)
    try:
        made = functools.reduce(getattr, attribute.split("."), found)
    except AttributeError:
        classes = {name: value for name, value in vars(found).items() if inspect.isclass(value)}
        known = [name for name, value in classes.items() if issubclass(value, Filter) and value is not Filter]
        hint = did_you_mean(attribute, known) if known else HOW
        where = getattr(found, "__file__", "built in")
        raise UserError(f"filter={given}: {module} ({where}) has no {attribute!r}; {hint}") from None
    if not isinstance(made, type) or not issubclass(made, Filter):
        raise UserError(f"filter={given}: {attribute} must be a subclass of filters.base.Filter")
    if inspect.isabstract(made):
        raise UserError(
            f"filter={given}: {attribute} must define {', '.join(sorted(made.__abstractmethods__))}"
        )
    return made


def _module(given: str, name: str) -> Any:
    """Import a module. Raises `UserError` with whatever kept it from being imported, and its place."""
    if not re.fullmatch(r"\w+(\.\w+)*", name) or name.endswith(".py"):
        raise UserError(f"filter={given}: {name!r} is not the name of a module; {HOW}")
    try:
        return importlib.import_module(name)
    except Exception as error:
        if isinstance(error, ModuleNotFoundError) and f"{name}.".startswith(f"{error.name}."):
            raise UserError(
                f"filter={given}: there is no module {error.name} in {Path.cwd()}, nor is one installed; {HOW}"
            ) from None
        where = traceback.extract_tb(error.__traceback__)[-1]
        # A syntax error has its place in its text.
        place = "" if isinstance(error, SyntaxError) else f" ({where.filename}, line {where.lineno})"
        described = f"{type(error).__name__}: {error}{place}"
        raise UserError(f"filter={given} cannot be imported: {described}") from error


def _arguments(given: str, made: type) -> dict[str, Any]:
    """Return the arguments of the constructor with their defaults, as settings.

    `seed` is the run's, as in our own filters. A default that YAML cannot write stays the constructor's.
    """
    settings = {}
    for name, parameter in inspect.signature(made).parameters.items():
        if name == "family":  # a setting of every filter, which constructors do not get
            raise UserError(
                f"filter={given}: its argument 'family' needs another name; reports order rows by family"
            )
        if parameter.kind in (parameter.VAR_POSITIONAL, parameter.VAR_KEYWORD):
            continue
        if parameter.default is parameter.empty:
            settings[name] = "???"
        elif _is_plain(parameter.default):
            settings[name] = parameter.default
    return settings | ({"seed": "${seed}"} if "seed" in settings else {})


def _is_plain(value: Any) -> bool:
    if isinstance(value, list | tuple):
        return all(map(_is_plain, value))
    if isinstance(value, dict):
        return all(isinstance(key, str) and _is_plain(of_key) for key, of_key in value.items())
    return value is None or isinstance(value, bool | int | float | str)
