"""The check of all settings: a wrong value is refused by its name before torch is imported and anything runs."""

import re
from collections.abc import Iterator, Mapping
from dataclasses import replace
from functools import lru_cache
from types import NoneType, UnionType
from typing import Annotated, Any, Literal, Union, get_args, get_origin

from omegaconf import DictConfig, ListConfig, OmegaConf
from omegaconf.errors import OmegaConfBaseException
from pydantic import TypeAdapter, ValidationError
from pydantic.fields import FieldInfo

from benchmark.cli.bounds import requirement_of_any
from benchmark.cli.settings import SETTINGS, TASKS
from benchmark.cli.signatures import Signature, read_signature
from benchmark.core.errors import UserError, did_you_mean
from benchmark.core.ranges import Name
from benchmark.run.config import explain, subset_size

# Keys of a node with a `_target_` that are not handed to it.
NOT_HANDED_OVER = frozenset({"_target_", "_partial_", "_convert_", "_recursive_", "family"})
REFERENCE = re.compile(r"\$\{([\w.]+)\}")  # a value that is another setting's
SHOWN = 100  # characters of a wrong value
TYPE_NAMES = {int: "an integer", float: "a number", str: "text", bool: "true or false", NoneType: "null"}
GIVEN_BY_TASKS = frozenset({"weak_backbone.labels"})  # arguments that no setting gives
OPEN = Signature({}, is_open=True)
_CHOOSES = ("task", "pool", "filter", "selector", "size", "engine", "captions")
# What tasks read: no value of it may be missing. Of other tasks, only their own settings are.
READS = {
    "run": (*_CHOOSES, "downstream", "evalset", "metrics", "tracker"),
    "train": (*_CHOOSES, "downstream", "tracker"),
    "select": _CHOOSES,
    "reshard": _CHOOSES,
    "export": _CHOOSES,
    "augment": (*_CHOOSES, "augmentation"),
    "score": ("task", "pool", "filter", "engine"),
    "profile": ("task", "pool", "profile"),
    "weak_labels": ("task", "pool", "weak_labels"),
    "icc_build": ("task", "icc"),
    "evaluate": ("task", "evalset", "metrics"),
}


def check_settings(cfg: DictConfig) -> None:
    """Check the names, types and ranges of all settings of one run, and that its task misses none.

    Raises:
        UserError: names each wrong setting as users type it, and says what must hold.
    """
    check = _Check(cfg)
    problems = dict.fromkeys(check.problems())  # one value may be wrong in several places
    if problems:
        raise UserError("; ".join(problems))
    groups = READS.get(str(cfg.task.name), ("task",))
    for name, (typed, error) in check.unreadable.items():
        if "." not in name or name.partition(".")[0] in groups:
            line = explain(error)
            # OmegaConf's own messages do not name the setting.
            raise UserError(f"{typed}: {line}" if line in str(error) else line) from error
    if "size" in groups:
        subset_size(cfg)
    if str(cfg.device).startswith("cuda"):
        from benchmark.core.devices import resolve_device  # imports torch

        resolve_device(cfg.device)


class _Check:
    """The walk over a configuration.

    `problems` yields a sentence for each wrong setting; `unreadable` holds the error of each setting whose value is
    missing or cannot be resolved, which matters to tasks that read it, and the setting that has this value.
    """

    def __init__(self, cfg: DictConfig) -> None:
        self._cfg = cfg
        self._raw = OmegaConf.to_container(cfg, resolve=False)
        self.unreadable: dict[str, tuple[str, OmegaConfBaseException]] = {}

    def problems(self) -> Iterator[str]:
        """Yield what is wrong, one sentence per setting."""
        task = str(self._cfg.task.name)
        own = {} if task in TASKS else {f"{task}?": Any}  # a task's settings may stand under its name
        yield from self._node(self._cfg, "", _plain_signature(SETTINGS | own, self._cfg))

    def _node(self, node: DictConfig, prefix: str, signature: Signature) -> Iterator[str]:
        """Check the settings below a name."""
        keys = [key for key in map(str, node) if key not in NOT_HANDED_OVER or not prefix]
        for key in keys:
            if key in signature.types or signature.is_open:
                yield from self._value(node, key, f"{prefix}{key}", signature.types.get(key, Any))
            else:
                hint = did_you_mean(key, signature.types) if signature.types else "it takes none"
                yield f"there is no setting {prefix + key!r}; {hint}"
        if not node.get("_partial_"):
            absent = {f"{prefix}{key}" for key in signature.required.difference(keys)}
            for name in sorted(absent - GIVEN_BY_TASKS):
                yield f"{name} is not given; add {'+' * ('_target_' in node)}{name}=VALUE to the command"

    def _value(self, node: DictConfig, key: str, name: str, kind: Any) -> Iterator[str]:
        typed = self._typed(name)
        try:
            value = self._read(node, key, typed)
        except OmegaConfBaseException as error:
            self.unreadable[name] = (typed, error)
            return
        if isinstance(value, DictConfig):
            if typed == name:  # else it is checked under its own name
                yield from self._group(value, name, kind)
        elif isinstance(kind, dict):
            yield f"{typed}={_shown(value)} must be a group of settings: {typed}.NAME=VALUE"
        elif not _fits(value, kind):
            yield f"{typed}={_shown(value)} must be {requirement(kind)}{_remedy(typed, value, kind)}"
        elif required := requirement_of_any(typed, value):
            yield f"{typed}={_shown(value)} must be {required}"

    def _read(self, node: DictConfig, key: str, typed: str) -> Any:
        """Return a value, lists as plain data. Raises OmegaConf's error if it is missing or cannot be resolved."""
        plain = self._raw_value(typed)
        if isinstance(plain, bool | int | float):
            return plain  # resolving a reference takes OmegaConf a millisecond
        value = node[key]
        return OmegaConf.to_container(value, resolve=True) if isinstance(value, ListConfig) else value

    def _group(self, node: DictConfig, name: str, kind: Any) -> Iterator[str]:
        """Check a setting that has settings of its own."""
        items = _item_type(kind)
        if name == "task":
            types = TASKS.get(str(node.get("name")))
            signature = replace(_plain_signature({"name": Name} | (types or {}), node), is_open=types is None)
        elif "_target_" in node:
            signature = read_signature(str(node["_target_"])) or OPEN
        elif isinstance(kind, dict):
            signature = _plain_signature(kind, node)
        elif items is None:
            yield f"{name} must be {requirement(kind)}"
            return
        else:
            signature = Signature(dict.fromkeys(map(str, node), items))
        yield from self._node(node, f"{name}.", signature)

    def _typed(self, name: str) -> str:
        """Return the name of the setting that holds the value of `name`: it may be another's, ``${models.clip}``."""
        names = [name]
        while True:
            value = self._raw_value(names[-1])
            reference = REFERENCE.fullmatch(value) if isinstance(value, str) else None
            if reference is None or reference[1] in names:  # a circle cannot be read, and is refused there
                return names[-1]
            names.append(reference[1])

    def _raw_value(self, name: str) -> Any:
        """Return a value as it is written; None if it is not there."""
        value: Any = self._raw
        for part in name.split("."):
            value = value.get(part) if isinstance(value, dict) else None
        return value


def _plain_signature(types: Mapping[str, Any], node: DictConfig) -> Signature:
    """Return a mapping of `benchmark.cli.settings` as the signature of a node."""
    named = {name.rstrip("?"): kind for name, kind in types.items() if name != "*"}
    others = {key: types["*"] for key in map(str, node) if key not in named} if "*" in types else {}
    return Signature(named | others, frozenset(name for name in named if name in types))


def _item_type(kind: Any) -> Any:
    """Return the type of a mapping's values, of ``dict[str, int] | None`` too; None for a type without mappings."""
    if kind is Any:
        return Any
    if get_origin(kind) in (Union, UnionType):
        return next((items for part in get_args(kind) if (items := _item_type(part)) is not None), None)
    return get_args(kind)[1] if get_origin(kind) is dict else None


def _fits(value: Any, kind: Any) -> bool:
    try:
        _adapter(kind).validate_python(value, strict=True)
    except ValidationError:
        return False
    return True


@lru_cache
def _adapter(kind: Any) -> TypeAdapter[Any]:
    return TypeAdapter(kind)


def requirement(kind: Any) -> str:
    """Return what a value of a type must be, as it stands behind "must be" in an error."""
    origin, arguments = get_origin(kind), get_args(kind)
    if origin is Annotated:
        field = next((a for a in arguments if isinstance(a, FieldInfo)), None)
        return str(field.description) if field and field.description else requirement(arguments[0])
    if origin is Literal:
        return " or ".join(map(str, arguments))
    if origin in (Union, UnionType):
        return ", or ".join(dict.fromkeys(requirement(part) for part in arguments))
    if origin is list:
        return "a list"
    if origin is dict:
        return "a group of settings"
    return TYPE_NAMES.get(kind, "another value")


def _remedy(name: str, value: Any, kind: Any) -> str:
    """Return how to write a number where text is wanted, or one value where a list is; empty for other mistakes."""
    if isinstance(value, int | float) and _fits("text", kind):
        return f": write '{name}=\"{_shown(value)}\"'"
    return f": write {name}=[{value}]" if _fits([value], kind) else ""


def _shown(value: Any) -> str:
    """Return a value as users type it."""
    if value is None:
        return "null"
    if isinstance(value, list):
        return f"[{','.join(map(_shown, value))}]"
    text = str(value).lower() if isinstance(value, bool) else str(value)
    return text if len(text) <= SHOWN else f"{text[:SHOWN]}..."
