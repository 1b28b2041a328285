"""The YAML files: their resolvers, the values of a composed configuration, and the mistakes in one."""

from __future__ import annotations

import copy
import importlib
import json
import os
import re
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict
from importlib.metadata import EntryPoints, entry_points
from importlib.util import find_spec
from inspect import isfunction, signature
from pathlib import Path
from typing import TYPE_CHECKING, Any

import hydra
from hydra.errors import HydraException, InstantiationException, MissingConfigException
from omegaconf import DictConfig, OmegaConf
from omegaconf.errors import MissingMandatoryValue, OmegaConfBaseException

from benchmark.core.cached_files import PROJECT
from benchmark.core.errors import UserError, did_you_mean
from benchmark.core.paths import cache_folder, remote_paths
from benchmark.core.requirements import AbsentError, OnFirstUseError
from benchmark.core.sanitize import map_values, redact
from benchmark.results.protocol import LIMIT

# Imported for annotations only: a misspelt command is answered before numpy and pyarrow are imported.
if TYPE_CHECKING:
    from benchmark.core.bounds import Bounds
    from filters.base import Filter

CONF = Path(__file__).resolve().parents[2] / "conf"
# The line after mistakes if weights or evaluation sets are missing.
WAYS_ON = (
    "ways on: evalset=hub downloads COCO and Flickr30k (about 1 GB); models=demo is a dry run with toy models, whose"
    " result compares with no real one"
)
NEEDS_DEMO = "evalset=demo needs pool=demo; use evalset=paper or evalset=hub for real images"
# The groups that take parts of users, with the base classes of such parts.
BASES = {
    "filter": ("filters.base.Filter",),
    "selector": ("benchmark.selection.selection.Selector",),
    "metrics": ("downstream.metrics.base.CaptionMetric",),
    "downstream": ("downstream.models.base.Downstream",),
    "evalset": (
        "downstream.evaluation.evaluation_sets.EvaluationSet",
        "downstream.evaluation.classification_sets.ClassificationSet",
    ),
    "task": (),
}
# Own parts that are functions.
FUNCTIONS = {"evalset": "a function that returns an evaluation set", "task": "a function of the job"}
AVAILABLE = "available"  # the evalset without the sets that are not on this machine
ALL = "all"  # the size of all pairs that the filter passes
PERCENT = r"(100|[1-9]\d?(\.\d+)?|0\.\d*[1-9]\d*)%"  # a size: above 0% to 100%
# Settings of every filter, which its class does not take, if they change nothing: see `benchmark.core.bounds`.
UNBOUNDED = {"minimum": None, "maximum": None, "rank": True, "low_is_good": False}
FIGURE_PARTS = frozenset({"pool", "engine", "device", "seed", "evaluation_sets", "models"})  # of the job
BOUNDED = "filters.composite.Bounded"
TYPED: list[str] = []  # the arguments of the command line, as the user typed them
USER_ERRORS = (UserError, HydraException, OmegaConfBaseException)


def shipped_names(group: str) -> list[str]:
    """Return the names of our own configs of a group, for example ``icc`` for ``filter``."""
    return [path.stem for path in (CONF / group).glob("*.yaml")]


def installed_parts(group: str) -> EntryPoints:
    """Return the parts that installed packages bring: the entry points of ``pairsift.filters``, for example."""
    return entry_points(group=f"{PROJECT}.{group if group in ('downstream', 'metrics') else f'{group}s'}")


def base_classes(group: str) -> tuple[type, ...]:
    """Return the classes of the parts of a group."""
    return tuple(map(hydra.utils.get_class, BASES[group]))


def is_kind(group: str, made: Any) -> bool:
    """Return whether an object makes parts of a group: a class of theirs, or for some a function."""
    is_class = isinstance(made, type)
    return issubclass(made, base_classes(group)) if is_class else group in FUNCTIONS and isfunction(made)


def require_kind(group: str, typed: str, made: Any) -> None:
    """Raise `UserError` unless an object makes parts of a group; `typed` names it."""
    if not is_kind(group, made):
        must = FUNCTIONS.get(group) or f"a subclass of {BASES[group][0]}"
        other = "another class" if isinstance(made, type) else f"a {type(made).__name__}"
        raise UserError(f"{typed} is {other}; it must be {must} (docs/own_parts.md)")


def locate(typed: str, target: str) -> Any:
    """Return the object with a dotted name, which is `typed`. Raises `UserError` if it is not there."""
    module, _, name = target.rpartition(".")
    try:
        return getattr(importlib.import_module(module), name)
    except (ImportError, AttributeError, ValueError) as error:
        raise UserError(f"{typed} cannot be imported: {error}") from error


def check_target(setting: str, node: DictConfig) -> None:
    """Raise `UserError` unless the target of a node, named `setting`, and of the filters in it are of their kind."""
    if "_target_" not in node:
        raise UserError(f"{setting} must have a class; add +{setting}._target_=MODULE.CLASS to the command")
    typed, group = f"{setting}._target_={node._target_}", setting.partition(".")[0]
    made = locate(typed, node._target_)
    if isfunction(made):  # its return value is checked once it has been called
        try:
            signature(made).bind_partial(**{n: None for n in map(str, node) if not n.startswith("_")})
        except TypeError as error:
            must = FUNCTIONS.get(group, f"a subclass of {BASES[group][0]}")
            raise UserError(f"{typed} does not take these settings ({error}); it must be {must}") from None
    else:
        require_kind(group, typed, made)
    for name, part in (node.get("filters") or {}).items():
        check_target(f"{setting}.filters.{name}", part)


def build_part(setting: str, node: DictConfig) -> Any:
    """Return the part that a node, named `setting`, describes. Raises `UserError` for an object of another kind."""
    check_target(setting, node)
    part, group = build(node), setting.partition(".")[0]
    if not isinstance(part, base_classes(group)):
        kind = type(part).__name__
        raise UserError(f"{setting}._target_={node._target_} must return a part for {group}, not a {kind}")
    return part


def register_resolvers() -> None:
    """Register ``${at_scale:N}``, ``${data:NAME}``, ``${package:NAME}`` and ``${built_or:NAME}``."""
    OmegaConf.register_new_resolver("at_scale", _at_scale, replace=True)
    OmegaConf.register_new_resolver("data", data_folder, replace=True)
    OmegaConf.register_new_resolver("package", _package_folder, replace=True)
    OmegaConf.register_new_resolver("built_or", _built_or, replace=True)


def _at_scale(number: int, *, _root_: DictConfig) -> int:
    """Return a number that is given for the paper's pool of 8M pairs, divided by the scale of this pool."""
    scale = int(_root_.pool.scale)
    if int(number) < scale:
        raise UserError(f"budget={number} must be an integer of at least {scale}, the scale of the pool")
    return int(number) // scale


def data_folder(name: str) -> str:
    """Return the folder of an evaluation set's data: that of the variable ``COCO_ROOT``, or one in the cache."""
    return os.environ.get(f"{name.upper()}_ROOT") or str(cache_folder("data", name))


def _built_or(checkpoint: str, *, _root_: DictConfig) -> str:
    """Return the distilled ICC scorer of ``models.icc.build``; without a build, `checkpoint`."""
    build = _root_.models.icc.build
    return f"{build}/icc/distilled/model" if build else checkpoint


def _package_folder(name: str) -> str:
    """Return the folder of an installed package, which is not imported."""
    spec = find_spec(name)
    if spec is None or not spec.submodule_search_locations:
        raise UserError(f"the package {name}, which has these files, is not installed")
    return spec.submodule_search_locations[0]


def build(node: DictConfig) -> Any:
    """Return what a node of the configuration describes. Raises `OnFirstUseError` if it has to be made first."""
    try:
        return hydra.utils.instantiate(node, _convert_="all")
    except InstantiationException as error:
        if isinstance(error.__cause__, OnFirstUseError | AbsentError):
            raise error.__cause__ from None
        raise


def make_filter(cfg: DictConfig, choices: Mapping[str, str] | None = None) -> Filter:
    """Build the filter; it loads its models later, in `setup`. With `choices` it has the name of its config."""
    settings: DictConfig = copy.deepcopy(cfg.filter)
    _drop_unused(settings)
    _take_bounds(settings)
    _wrap_parts(settings)
    scorer: Filter = build_part("filter", settings)
    scorer.take_names(choices or {})
    return scorer


def make_filters(node: DictConfig, choices: Mapping[str, str], group: str) -> dict[str, Filter]:
    """Build the filters below a node of a group, each within its bounds; the bounds are taken out of the node."""
    _drop_unused(node)
    _wrap_parts(node)
    filters = {str(n): build_part(f"filter.{n}", part) for n, part in (node.get("filters") or {}).items()}
    for name, made in filters.items():
        made.take_names(choices, f"filter@{group}.filters.{name}")
    return filters


def filter_bounds(cfg: DictConfig) -> Bounds:
    """Return the bounds of the filter. Raises `UserError` for a minimum above the maximum."""
    return _take_bounds(copy.deepcopy(cfg.filter))


def filter_settings(cfg: DictConfig) -> DictConfig:
    """Return the settings of the filter and its parts that change its selection.

    That is without `family`, which only orders the report's rows, and bounds that are as if they were absent.
    """
    settings: DictConfig = copy.deepcopy(cfg.filter)
    _drop_unused(settings)
    for node in _filter_nodes(settings):
        given = asdict(_take_bounds(node))
        del given["low_is_good"]  # as the score, of the class
        node.update({name: value for name, value in given.items() if value != UNBOUNDED[name]})
    return settings


def _drop_unused(node: DictConfig) -> None:
    OmegaConf.set_struct(node, False)
    if "_target_" in node:
        node.pop("family", None)
    for name in map(str, node):
        if not (OmegaConf.is_interpolation(node, name) or OmegaConf.is_missing(node, name)):
            child = node[name]
            if isinstance(child, DictConfig):
                _drop_unused(child)


def _filter_nodes(node: DictConfig) -> Iterator[DictConfig]:
    """Yield the node of a filter, and the nodes of its parts at any depth."""
    yield node
    for part in (node.get("filters") or {}).values():
        yield from _filter_nodes(part)


def _take_bounds(node: DictConfig) -> Bounds:
    """Return the bounds of the filter of a node, and remove them from it: its class does not take them."""
    from benchmark.core.bounds import Bounds

    OmegaConf.set_struct(node, False)
    return Bounds(**{name: node.pop(name) for name in UNBOUNDED if name in node})


def _wrap_parts(node: DictConfig) -> None:
    """Put each part that has bounds into a composite that applies them."""
    for name, part in (node.get("filters") or {}).items():
        bounds = _take_bounds(part)
        _wrap_parts(part)
        if bounds:
            node.filters[name] = {"_target_": BOUNDED, "filters": {name: part}, **asdict(bounds)}


def filter_family(cfg: DictConfig) -> str:
    """Return the family that the filter's config names, see `FAMILIES` of the leaderboard; empty without one."""
    return str(cfg.filter.get("family") or "")


def evaluation_nodes(cfg: DictConfig) -> dict[str, DictConfig]:
    """Return the settings of each evaluation set by its name."""
    return {str(name): node for name, node in cfg.evalset.items() if name != LIMIT}


def resolved(cfg: Any) -> Any:
    """Return a configuration node as plain data with every interpolation resolved."""
    return OmegaConf.to_container(cfg, resolve=True) if OmegaConf.is_config(cfg) else cfg


def recorded(cfg: Any) -> Any:
    """Return `resolved(cfg)` with infinities and NaN as strings, for JSON, and URLs without credentials."""
    plain = json.loads(json.dumps(resolved(cfg)), parse_constant=lambda n: n.removesuffix("inity").lower())
    return map_values(plain, str, lambda text: redact(remote_paths(text)))


def explain(error: Exception) -> str:
    """Return a one-line message for a user's error, with a suggestion for a misspelt name; raise any other again."""
    if isinstance(error, InstantiationException) and error.__cause__ is not None:
        # Hydra wraps all errors of a constructor; only these causes are mistakes of the user.
        if isinstance(error.__cause__, UserError | OmegaConfBaseException):
            return explain(error.__cause__)
        if not str(error).startswith("Error locating target"):
            raise error
    if isinstance(error, MissingConfigException) and error.missing_cfg_file:
        return _unknown_config(str(error.missing_cfg_file), error.options or ())
    # OmegaConf names the class of an error in a resolver.
    text = re.sub(r"^\w+ raised while resolving interpolation: ", "", str(error).strip().split("\n")[0])
    variable = re.search(r"Environment variable '(\w+)' not found", text)
    full_key = getattr(error, "full_key", None)  # None with --resolve
    if variable:
        other = f", or to another value of {full_key}" if full_key else ""
        return f"set {variable[1]} to the folder or URL of this data{other}"
    reference = re.match(r"Interpolation key '([^']+)' not found", text)
    if reference and reference[1].startswith("pool.demo"):
        text = NEEDS_DEMO
    elif reference:
        return f"{full_key or 'a setting'} refers to a setting that there is not: ${{{reference[1]}}}"
    if isinstance(error, MissingMandatoryValue):
        value = "FOLDER" if error.full_key == "pool.url" else "VALUE"
        return f"{error.full_key} is not given; add {error.full_key}={value} to the command"
    return text


@contextmanager
def user_errors() -> Iterator[None]:
    """Turn the configuration library's errors within the block into `UserError`."""
    try:
        yield
    except UserError:
        raise
    except USER_ERRORS as error:
        raise UserError(explain(error)) from error


def _unknown_config(path: str, known: Iterable[str]) -> str:
    """Return the message for an unknown config ``group/name``."""
    group = path.rpartition("/")[0] if path.startswith("hydra/") else path.partition("/")[0]
    name = path.removeprefix(f"{group}/")
    if group == "pool" and "/" in name:
        return f"pool={name} must be a name; for a folder or URL write pool=img2dataset pool.url={name}"
    names = [*(known or shipped_names(group))]
    if group == "size":
        order = sorted(names, key=lambda size: size.replace("k", "000").replace("m", "000000").zfill(12))
        must = "must be a number of pairs, such as 250k, a percentage such as 10%"
        return f"size={name} {must}, or one of {', '.join(order)}"
    if group not in BASES:
        return f"{group}={name} is unknown; {did_you_mean(name, names)}"
    hint = did_you_mean(name, [*names, *installed_parts(group).names])
    return f"{group}={name} is unknown; {hint}; of your own: {group}=MODULE:NAME"
