"""What a command needs, by the part of it that needs it; nothing is scored, drawn, fetched or trained to find out."""

from collections import defaultdict
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import cached_property, partial
from pathlib import Path

import hydra
from hydra.core.hydra_config import HydraConfig
from omegaconf import DictConfig, OmegaConf

from benchmark.core.devices import check_computed, device_type
from benchmark.core.disk import disk_space, require_writable
from benchmark.core.errors import UserError
from benchmark.core.paths import cache_dir
from benchmark.core.requirements import (
    OnFirstUseError,
    Requirement,
    State,
    look,
    on_first_use,
    only_looking,
)  # fmt: skip
from benchmark.pool.other_captions import CaptionSources
from benchmark.pool.pool import Pool
from benchmark.run.choose import asked_for, check_size
from benchmark.run.config import (
    USER_ERRORS,
    choice,
    explain,
    make_engine,
    make_filter,
    make_pool,
    make_tracker,
    resolved,
    subset_size,
)
from benchmark.run.downstream_config import (
    evaluation_limit,
    evaluation_nodes,
    load_evaluation_set,
    make_metrics,
    make_models,
)
from benchmark.scoring.score_pool import check_columns

Requirements = Iterator[Requirement]


def find_requirements(cfg: DictConfig, task: str, *, every: bool = True) -> dict[str, list[Requirement]]:
    """Return what the command needs if its task is `task`, by the part of the command that needs it.

    Args:
        cfg: the configuration.
        task: name of the task.
        every: whether parts that may import torch are looked at even where another part is a mistake.
    """
    command, found = Command(cfg), dict[str, list[Requirement]]()
    parts = [part for part in PARTS if part in NEEDS.get(task, ())]
    mistake = False
    for part in sorted(parts, key=MAY_IMPORT_TORCH.__contains__):
        if every or part not in MAY_IMPORT_TORCH or not mistake:
            found[part] = _found(part, PARTS[part], command)
            mistake = mistake or any(_is_mistake(requirement, part) for requirement in found[part])
    found = {_setting(cfg, part): found[part] for part in parts if part in found}
    return found | {"disk": list(disk_space(r for of_part in found.values() for r in of_part))}


def _is_mistake(requirement: Requirement, part: str) -> bool:
    """Whether a setting of the part, such as ``filter.path``, is wrong; weights that are missing are no mistake."""
    return requirement.state is State.MISSING and requirement.name.partition(".")[0] == part


def _setting(cfg: DictConfig, part: str) -> str:
    """Return the part as users type it, ``filter=icc``; its name alone outside Hydra's main."""
    known = HydraConfig.initialized() and part in HydraConfig.get().runtime.choices
    return f"{part}={choice(cfg, part)}" if known else part


@dataclass(frozen=True)
class Command:
    """A configuration, and the pool that it names."""

    cfg: DictConfig

    @property
    def pool(self) -> Pool | None:
        """The pool; None where it is missing or not yet drawn, which its own requirement says."""
        return self.pool_or_error if isinstance(self.pool_or_error, Pool) else None

    @cached_property
    def pool_or_error(self) -> Pool | Exception:
        """The pool, listed once, or what `make_pool` raises."""
        try:
            return make_pool(self.cfg)
        except (*USER_ERRORS, OnFirstUseError) as error:
            return error


def _found(part: str, find: Callable[[Command], Requirements], command: Command) -> list[Requirement]:
    """Return the requirements that `find` yields, and last the error that ended it."""
    found: dict[Requirement, None] = {}
    try:
        with only_looking():
            for requirement in find(command):
                found[requirement] = None
    except (*USER_ERRORS, OnFirstUseError) as error:
        found[_of_error(part, error)] = None
    return list(found)


def _of_error(name: str, error: Exception) -> Requirement:
    # Hydra wraps what constructors raise.
    later = error if isinstance(error, OnFirstUseError) else error.__cause__
    if isinstance(later, OnFirstUseError):
        return on_first_use(name, later)
    return Requirement(name, State.MISSING, explain(error))


def _pool(command: Command) -> Requirements:
    if isinstance(command.pool_or_error, Exception):
        raise command.pool_or_error
    yield Requirement(command.pool_or_error.name, State.PRESENT, command.pool_or_error.url)


def _size(command: Command) -> Requirements:
    k = subset_size(command.cfg)
    drawn = OmegaConf.select(command.cfg, "pool.demo.pairs")
    if drawn is not None and k > drawn:
        asked = asked_for(k, int(command.cfg.pool.scale))
        raise UserError(f"size asks for {asked}, but pool.demo.pairs={drawn}; choose a smaller size")
    if command.pool:
        check_size(command.pool, k)
    yield from ()


def _filter(command: Command) -> Requirements:
    scorer = make_filter(command.cfg)
    yield from scorer.requirements()
    if command.pool:
        check_columns(command.pool, scorer)


def _selector(command: Command) -> Requirements:
    selector = hydra.utils.instantiate(command.cfg.selector, _convert_="all")
    for reader in selector.readers():
        yield from reader.requirements()
        if command.pool:
            check_columns(command.pool, reader)


def _made(make: Callable[[DictConfig], object], command: Command) -> Requirements:
    make(command.cfg)  # checks its settings and extras
    yield from ()


def _captions(command: Command) -> Requirements:
    if command.pool:
        CaptionSources(command.pool, **resolved(command.cfg.captions))
    yield from ()


def _models(command: Command) -> Requirements:
    device = device_type(command.cfg.device)
    for model in make_models(command.cfg).values():
        check_computed(model.training.precision_on(device), device)
        yield from model.requirements()
    if command.pool:
        command.pool.shards(frozenset({"image"}))


def _evaluation_sets(command: Command) -> Requirements:
    evaluation_limit(command.cfg)
    for name, node in evaluation_nodes(command.cfg).items():
        if command.pool is None and "demo_evalset" in OmegaConf.to_yaml(node):
            yield Requirement(name, State.FIRST_USE, "will be drawn with the demo's pool")
        else:
            yield from _found(name, partial(_evaluation_set, name), Command(node))


def _evaluation_set(name: str, command: Command) -> Requirements:
    yield Requirement(name, State.PRESENT, f"{len(load_evaluation_set(command.cfg)):,} images")


def _validation(command: Command) -> Requirements:
    if any(model.training.validate_every for model in make_models(command.cfg).values()):
        yield from _evaluation_sets(command)


def _metrics(command: Command) -> Requirements:
    used_by: dict[Requirement, list[str]] = defaultdict(list)
    for metric in make_metrics(command.cfg):
        for requirement in metric.requirements():
            used_by[requirement] += metric.names
    for requirement, names in used_by.items():
        yield replace(requirement, name=f"{requirement.name} for {', '.join(names)}")


def _writable(setting: str, command: Command) -> Requirements:
    folder = OmegaConf.select(command.cfg, setting, throw_on_missing=True)
    if folder is not None and "://" not in str(folder):
        yield look(setting, lambda: require_writable(setting, Path(str(folder))))


def _cache(command: Command) -> Requirements:
    yield look("XDG_CACHE_HOME", lambda: require_writable("XDG_CACHE_HOME", cache_dir()))


PARTS: dict[str, Callable[[Command], Requirements]] = {
    "pool": _pool,
    "size": _size,
    "filter": _filter,
    "selector": _selector,
    "engine": partial(_made, make_engine),
    "captions": _captions,
    "downstream": _models,
    "evalset": _evaluation_sets,
    "validation": _validation,
    "metrics": _metrics,
    "tracker": partial(_made, make_tracker),
    "results_dir": partial(_writable, "results_dir"),
    "task.output": partial(_writable, "task.output"),
    "cache": _cache,
}
# To ask what a GPU computes, or where weights of open_clip lie.
MAY_IMPORT_TORCH = frozenset({"downstream", "validation", "metrics"})
SCORE = frozenset({"pool", "filter", "engine", "cache"})
SELECT = SCORE | {"size", "selector"}
TRAIN = SELECT | {"captions", "downstream", "tracker"}
# The parts of a command that each task needs; other tasks check for themselves.
NEEDS = {
    "concreteness": frozenset({"filter"}),
    "score": SCORE,
    "select": SELECT,
    "reshard": SELECT | {"task.output"},
    "export": SELECT | {"task.output"},
    "train": TRAIN | {"validation"},
    "run": TRAIN | {"evalset", "metrics", "results_dir"},
    "evaluate": frozenset({"evalset", "metrics", "results_dir", "cache"}),
}
