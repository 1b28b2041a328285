"""What a command needs, checked before anything is scored, drawn, fetched or trained."""

import logging
from collections import defaultdict
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import cache, cached_property, partial
from pathlib import Path

import hydra
from hydra.core.hydra_config import HydraConfig
from omegaconf import DictConfig, OmegaConf

from benchmark.config import (
    USER_ERRORS,
    choice,
    evaluation_nodes,
    explain,
    load_evaluation_set,
    make_engine,
    make_filter,
    make_metrics,
    make_models,
    make_pool,
    make_tracker,
    resolved,
    subset_size,
)
from benchmark.core.disk import free_bytes, nearest_folder, require_writable
from benchmark.core.errors import UserError
from benchmark.core.paths import cache_dir
from benchmark.core.requirements import (
    OnFirstUseError,
    Requirement,
    State,
    look,
    on_first_use,
    only_looking,
)
from benchmark.pipeline import check_size
from benchmark.pool.pool import Pool
from benchmark.scoring.score_pool import check_readable
from benchmark.subset.other_captions import CaptionSources

log = logging.getLogger(__name__)
Requirements = Iterator[Requirement]


def check_before_run(cfg: DictConfig) -> None:
    """Raise `UserError` unless everything is there that the command needs, or comes with its first use.

    Takes seconds: nothing is scored, drawn, fetched or trained. Logs, once, what will be fetched or drawn, and which
    metrics will be absent.
    """
    found = find_requirements(cfg, str(cfg.task.name))
    missing = dict.fromkeys(r.detail for of in found.values() for r in of if r.state is State.MISSING)
    if missing:
        raise UserError("; and ".join(missing))
    for part, of_part in found.items():
        for requirement in of_part:
            if requirement.state in (State.FIRST_USE, State.WITHOUT):
                _log_once(f"{part}: {requirement.state} {requirement.name}: {requirement.detail}")


@cache
def _log_once(line: str) -> None:
    """Log a line that the runs of a sweep would repeat."""
    log.info(line)


def find_requirements(cfg: DictConfig, task: str) -> dict[str, list[Requirement]]:
    """Return what the command needs if its task is `task`, by the part of the command that needs it."""
    command = Command(cfg)
    found = {
        _setting(cfg, part): _found(part, PARTS[part], command)
        for part in PARTS
        if part in NEEDS.get(task, ())
    }
    return found | {"disk": list(_disk(found))}


def _setting(cfg: DictConfig, part: str) -> str:
    """Return the part as users type it: ``filter=icc``."""
    return f"{part}={choice(cfg, part)}" if part in HydraConfig.get().runtime.choices else part


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
    later = (
        error if isinstance(error, OnFirstUseError) else error.__cause__
    )  # Hydra wraps what constructors raise
    if isinstance(later, OnFirstUseError):
        return on_first_use(name, later)
    return Requirement(name, State.MISSING, explain(error))


def _pool(command: Command) -> Requirements:
    cfg = command.cfg
    k = subset_size(cfg)
    drawn = OmegaConf.select(cfg, "pool.demo.pairs")
    if drawn is not None and k > drawn:
        raise UserError(f"size asks for {k:,} pairs, but pool.demo.pairs={drawn}; choose a smaller size")
    if isinstance(command.pool_or_error, Exception):
        raise command.pool_or_error
    check_size(command.pool_or_error, k)
    yield Requirement(command.pool_or_error.name, State.PRESENT, command.pool_or_error.url)


def _filter(command: Command) -> Requirements:
    scorer = make_filter(command.cfg)
    yield from scorer.requirements()
    if command.pool:
        check_readable(command.pool, scorer)


def _selector(command: Command) -> Requirements:
    selector = hydra.utils.instantiate(command.cfg.selector, _convert_="all")
    for reader in selector.readers():
        yield from reader.requirements()
        if command.pool:
            check_readable(command.pool, reader)


def _engine(command: Command) -> Requirements:
    make_engine(command.cfg)
    yield from ()


def _captions(command: Command) -> Requirements:
    if command.pool:
        CaptionSources(command.pool, **resolved(command.cfg.captions))
    yield from ()


def _models(command: Command) -> Requirements:
    for model in make_models(command.cfg).values():
        yield from model.requirements()
    if command.pool:
        command.pool.shards(frozenset({"image"}))


def _evaluation_sets(command: Command) -> Requirements:
    for name, node in evaluation_nodes(command.cfg).items():
        if command.pool is None and "demo_evalset" in OmegaConf.to_yaml(node):
            yield Requirement(name, State.FIRST_USE, "drawn with the demo's pool")
        else:
            yield from _found(name, partial(_evaluation_set, name), Command(node))


def _evaluation_set(name: str, command: Command) -> Requirements:
    yield Requirement(name, State.PRESENT, f"{len(load_evaluation_set(command.cfg)):,} images")


def _validation(command: Command) -> Requirements:
    if any(model.training.validate_every for model in make_models(command.cfg).values()):
        yield from _evaluation_sets(command)


def _metrics(command: Command) -> Requirements:
    for metric in make_metrics(command.cfg):
        for requirement in metric.requirements():
            yield replace(requirement, name=f"{', '.join(metric.names)}: {requirement.name}")


def _results(command: Command) -> Requirements:
    folder = str(command.cfg.results_dir)
    if "://" not in folder:
        yield look("results_dir", lambda: require_writable("results_dir", Path(folder)))


def _output(command: Command) -> Requirements:
    folder = command.cfg.task.output
    if folder is not None and "://" not in str(folder):
        path = Path(str(folder)).expanduser()
        yield look("task.output", lambda: require_writable("task.output", path))


def _tracker(command: Command) -> Requirements:
    make_tracker(command.cfg)
    yield from ()


def _cache(command: Command) -> Requirements:
    yield look("XDG_CACHE_HOME", lambda: require_writable("XDG_CACHE_HOME", cache_dir()))


def _disk(found: dict[str, list[Requirement]]) -> Requirements:
    """Yield whether each disk has room for what is fetched and drawn to it, as far as its size is known."""
    needed: dict[Path, int] = defaultdict(int)
    for requirement in dict.fromkeys(r for of_part in found.values() for r in of_part):
        if requirement.folder:
            needed[nearest_folder(requirement.folder)] += requirement.size
    for folder, size in needed.items():
        free = free_bytes(folder)
        room = (
            f"{size / 1e6:,.0f} MB will be fetched or drawn to {folder}, where {free / 1e6:,.0f} MB are free"
        )
        if size > free:
            room += "; make room, or set XDG_CACHE_HOME and HF_HOME to folders on a larger disk"
        yield Requirement(str(folder), State.MISSING if size > free else State.PRESENT, room)


PARTS: dict[str, Callable[[Command], Requirements]] = {
    "pool": _pool,
    "filter": _filter,
    "selector": _selector,
    "engine": _engine,
    "captions": _captions,
    "downstream": _models,
    "evalset": _evaluation_sets,
    "validation": _validation,
    "metrics": _metrics,
    "tracker": _tracker,
    "results_dir": _results,
    "task.output": _output,
    "cache": _cache,
}
SCORE = frozenset({"pool", "filter", "engine", "cache"})
SELECT = SCORE | {"selector"}
TRAIN = SELECT | {"captions", "downstream", "tracker"}
# The parts of a command that each task needs; other tasks check for themselves.
NEEDS = {
    "score": SCORE,
    "select": SELECT,
    "reshard": SELECT | {"task.output"},
    "export": SELECT | {"task.output"},
    "train": TRAIN | {"validation"},
    "run": TRAIN | {"evalset", "metrics", "results_dir"},
    "evaluate": frozenset({"evalset", "metrics", "results_dir", "cache"}),
}
