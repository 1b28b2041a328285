"""The check of the settings that a command gives: a wrong one is refused by its name before anything runs.

The configs of the project are trusted: only settings that a command gives are checked. The class that takes a setting
is imported only if the command gives that setting.
"""

import inspect
import math
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Any, Self, Union, get_args, get_origin, get_type_hints

from omegaconf import DictConfig, ListConfig, OmegaConf
from omegaconf.errors import MissingMandatoryValue, OmegaConfBaseException

from benchmark.cli.settings import setting_types, task_types
from benchmark.core.errors import UserError, did_you_mean
from benchmark.core.ranges import Name, fits, plain_type, requirement
from benchmark.core.sanitize import map_values
from benchmark.run.config import FIGURE_PARTS, explain, locate, shipped_names

# Keys of a node with a `_target_` that are not arguments of its class.
NOT_ARGUMENTS = frozenset(
    {"_target_", "_partial_", "_convert_", "_recursive_", "family", "after", "heading", "needs"}
)
# Arguments that no setting gives.
GIVEN_BY_TASKS = {"weak_backbone.labels", *map("figure.{}".format, FIGURE_PARTS)}
BOUNDS = "benchmark.core.bounds.Bounds"  # the settings of every filter, next to the arguments of its class
SHOWN = 100  # characters of a wrong value


def check_settings(cfg: DictConfig, given: Sequence[str] | None = None) -> None:
    """Check names, types and ranges of the `given` settings of a run, by default of all.

    Texts that interpolations such as ``${oc.env:NAME}`` give become the numbers and lists that the settings take.
    Raises `UserError`, which names each wrong setting as users type it, and says what must hold.
    """
    check = _Check(list(map(str, cfg)) if given is None else given)
    task = str(cfg.task.name)  # the name of a user's task may be a group of settings
    own = {} if task in shipped_names("task") else {task: Any}
    problems = dict.fromkeys(check.problems(cfg, "", Arguments.of(setting_types() | own)))
    if problems:
        raise UserError("; ".join(problems))


@dataclass(frozen=True)
class Arguments:
    """The arguments that a class or function takes by name."""

    types: Mapping[str, Any]  # Any for objects
    required: frozenset[str] = frozenset()  # without a default
    others: Any = None  # type of arguments with any other name (``**kwargs``); None if there are none

    @classmethod
    def of(cls, types: Mapping[str, Any]) -> Self:
        """Return a mapping of `benchmark.cli.settings`, in which a star means any other name."""
        return cls({name: kind for name, kind in types.items() if name != "*"}, others=types.get("*"))


@dataclass(frozen=True)
class _Check:
    given: Sequence[str]

    def problems(self, node: DictConfig, prefix: str, arguments: Arguments) -> Iterator[str]:
        """Yield a sentence for each wrong setting below a name."""
        keys = [key for key in map(str, node) if key not in NOT_ARGUMENTS or not prefix]
        for key in filter(lambda key: self._is_given(prefix + key), keys):
            kind = arguments.types.get(key, arguments.others)
            if kind is not None:
                yield from self._value(node, key, prefix + key, kind)
            else:
                hint = did_you_mean(key, arguments.types) if arguments.types else "it takes none"
                yield f"there is no setting {prefix + key!r}; {hint}"
        for key in [] if node.get("_partial_") else sorted(arguments.required.difference(keys)):
            if self._is_given(prefix + key) and prefix + key not in GIVEN_BY_TASKS:
                plus = "+" * ("_target_" in node)
                yield f"{prefix}{key} is not given; add {plus}{prefix}{key}=VALUE to the command"

    def _is_given(self, name: str) -> bool:
        """Return whether the command gives a setting, a setting below it, or the group that it is in."""
        return any(f"{g}.".startswith(f"{name}.") or f"{name}.".startswith(f"{g}.") for g in self.given)

    def _value(self, node: DictConfig, key: str, name: str, kind: Any) -> Iterator[str]:
        try:
            value = node[key]
            value = OmegaConf.to_container(value, resolve=True) if isinstance(value, ListConfig) else value
        except OmegaConfBaseException as error:
            # A missing value, or one of the user's config, is refused by the task that reads it.
            if name in self.given and not isinstance(error, MissingMandatoryValue):
                line = explain(error)
                # OmegaConf's own messages do not name the setting.
                raise UserError(f"{name}: {line}" if line in str(error) else line) from error
            return
        if isinstance(value, DictConfig):
            if arguments := arguments_of(value, name, kind):
                yield from self.problems(value, f"{name}.", arguments)
            else:
                yield f"{name} must be {requirement(kind)}"
            return
        if isinstance(kind, dict):
            yield f"{name}={shown_value(value)} must be a group of settings: {name}.NAME=VALUE"
            return
        if kind is Any and name.rpartition(".")[0].endswith(".filters"):
            yield f"{name}={shown_value(value)} must be a filter; write filter@{name}=NAME"
            return
        unresolved: Any = OmegaConf.to_container(node)
        if "${" in str(unresolved[key]) and not fits(value, kind):
            node[key] = value = map_values(value, str, _decoded)
        if not fits(value, kind):
            yield f"{name}={shown_value(value)} must be {requirement(kind)}{_remedy(name, value, kind)}"
        elif isinstance(value, float) and math.isnan(value):
            yield f"{name}={shown_value(value)} must be a number"


def arguments_of(node: DictConfig, name: str, kind: Any) -> Arguments | None:
    """Return the settings that a group takes by its `name` and type; None for a type that is not a group."""
    if name == "task":
        task = str(node.get("name"))
        types = task_types(task) if task in shipped_names("task") else {"*": Any}
        return Arguments.of({"name": Name} | types)
    if "_target_" in node:
        arguments = class_arguments(str(node["_target_"]))
        if name.partition(".")[0] == "filter" or ".filters." in name:
            arguments = replace(arguments, types={**arguments.types, **class_arguments(BOUNDS).types})
        return arguments
    if isinstance(kind, dict):  # others below `models` are settings of a user's model
        return Arguments.of(kind | {"*": Any} if name.partition(".")[0] == "models" else kind)
    return None if (item := _item_type(kind)) is None else Arguments({}, others=item)


def class_arguments(target: str) -> Arguments:
    """Return the arguments of ``package.module.Name``. Raises `UserError` if it is not there."""
    made = locate(target, target)
    hints: dict[str, Any] = {}
    with suppress(NameError):  # annotations of a user's class may be for type checkers only
        hints = get_type_hints(made.__init__ if inspect.isclass(made) else made, include_extras=True)
    taken = inspect.signature(made).parameters.values()
    named = [p for p in taken if p.kind not in (p.VAR_POSITIONAL, p.VAR_KEYWORD)]
    return Arguments(
        {p.name: plain_type(hints.get(p.name)) for p in named},
        frozenset(p.name for p in named if p.default is p.empty),
        Any if any(p.kind is p.VAR_KEYWORD for p in taken) else None,
    )


def _item_type(kind: Any) -> Any:
    """Return the type of a mapping's values, of ``dict[str, int] | None`` too; None for a type without mappings."""
    if get_origin(kind) is Union:
        return next((item for part in get_args(kind) if (item := _item_type(part)) is not None), None)
    return get_args(kind)[1] if get_origin(kind) is dict else Any if kind is Any else None


def _remedy(name: str, value: Any, kind: Any) -> str:
    """Return how to write a number as text, or one value as a list; empty for other mistakes."""
    if isinstance(value, int | float) and fits("text", kind):
        return f": write '{name}=\"{shown_value(value)}\"'"
    return f": write {name}=[{value}]" if fits([value], kind) else ""


def _decoded(text: str) -> Any:
    """Return what a text means on the command line; the text itself if it is nothing else."""
    with suppress(OmegaConfBaseException):
        return OmegaConf.create({"value": "${oc.decode:${text}}", "text": text}).value
    return text


def shown_value(value: Any) -> str:
    """Return a value as users type it."""
    if value is None:
        return "null"
    if isinstance(value, list):
        return f"[{','.join(map(shown_value, value))}]"
    text = str(value).lower() if isinstance(value, bool) else str(value)
    return text if len(text) <= SHOWN else f"{text[:SHOWN]}..."
