"""A command: its parts, each built once; everything that they need; and its task."""

from __future__ import annotations

import copy
import json
import logging
import os
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, fields, replace
from functools import cache, cached_property, partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import hydra
from omegaconf import DictConfig, OmegaConf

from benchmark.core.batch import CONTAMINATED, EXCLUDED
from benchmark.core.devices import check_computed, device_type, resolve_device
from benchmark.core.disk import disk_space, require_writable
from benchmark.core.errors import MistakesError, UserError, disk_errors_as_one_line, panics_as_errors
from benchmark.core.hashes import hash_bytes
from benchmark.core.launch import is_main_process, lost_processes_as_one_line
from benchmark.core.output_folder import DEPTH, writable_folder
from benchmark.core.paths import cache_dir
from benchmark.core.requirements import (
    AbsentError,
    OnFirstUseError,
    Requirement,
    State,
    join_details,
    lacking,
    look,
    provide,
)
from benchmark.core.storage import check_writable
from benchmark.pool.exclusion import excluded_uids, exclusion_lists
from benchmark.pool.other_captions import CaptionSources
from benchmark.results.protocol import LIMIT
from benchmark.results.trackers import NoTracker, Tracker
from benchmark.run.config import (
    AVAILABLE,
    USER_ERRORS,
    WAYS_ON,
    build,
    build_part,
    evaluation_nodes,
    explain,
    filter_bounds,
    locate,
    make_filter,
    make_filters,
    require_kind,
    resolved,
    user_errors,
)
from benchmark.run.output import Finished
from benchmark.run.sizes import check_budget, check_size, subset_size
from benchmark.scoring.score_folder import scored_shards
from benchmark.scoring.shard_reader import check_columns

if TYPE_CHECKING:  # plans, checks and selections from cached scores need no torch
    import torch

    from benchmark.core.bounds import Bounds
    from benchmark.core.uids import UidArray
    from benchmark.engine.base import Engine
    from benchmark.pool.pool import Pool
    from benchmark.selection.selection import Selector
    from downstream.evaluation.classification_sets import ClassificationSet
    from downstream.evaluation.evaluation_sets import EvaluationSet
    from downstream.metrics.base import CaptionMetric
    from downstream.models.base import Downstream
    from filters.base import Filter

log = logging.getLogger(__name__)
LOGGED = {State.FIRST_USE: "on first use", State.WITHOUT: "missing"}
Found = Iterator[Requirement]


@dataclass(eq=False)
class Job:
    """A command with one configuration. Its parts are built on first use, and dropped when it has run."""

    cfg: DictConfig  # a copy of the configuration, without Hydra's own node, which the job may change
    choices: Mapping[str, str]  # name of the config of each group, such as ``icc`` for ``filter``
    overrides: Sequence[str] = ()  # the command line, which names a protocol
    sweep: Path | None = None  # folder of the sweep that the job belongs to; None for a single run
    # Pools and evaluation sets by their settings, for all jobs of a command.
    built: dict[str, Any] = field(default_factory=dict)
    checked: bool = False
    absent: tuple[Requirement, ...] = ()  # requirements of absent metrics, as `check` found

    @property
    def task(self) -> str:
        """The name of the task."""
        return str(self.cfg.task.name)

    @property
    def k(self) -> int | None:
        """The number of pairs to select; None for all that the filter passes, known once they are scored."""
        return subset_size(self.cfg)

    @property
    def seed(self) -> int:
        """The random seed."""
        return int(self.cfg.seed)

    @property
    def shards(self) -> str | None:
        """The part of the pool's shards that task=score scores, such as ``3/8``; None for all."""
        part = self.cfg.task.get("shards")
        return None if part is None else str(part)

    @property
    def results_dir(self) -> Path:
        """The folder of results; while the task runs, the local copy of a remote folder."""
        return Path(self.cfg.results_dir)

    @cached_property
    def pool(self) -> Pool:
        """The pool; the demo's is drawn first, with its evaluation sets."""
        return provide(self._find_pool)

    @cached_property
    def filter(self) -> Filter:
        """The filter; it loads its models in `setup`."""
        return make_filter(self.cfg, self.choices)

    @cached_property
    def compared_filters(self) -> dict[str, Filter]:
        """The filters below `task.filters`, by their names. Raises `UserError` unless there are several."""
        filters = make_filters(copy.deepcopy(self.cfg.task), self.choices, "task")
        if len(filters) < 2:
            raise UserError(f"task={self.task} needs filters to compare; add task.filters=[icc,clip]")
        return filters

    @property
    def bounds(self) -> Bounds:
        """The bounds of the filter."""
        return filter_bounds(self.cfg)

    @cached_property
    def selector(self) -> Selector:
        """The selector."""
        selector: Selector = build_part("selector", self.cfg.selector)
        return selector

    @cached_property
    def engine(self) -> Engine:
        """The engine that runs work on shards."""
        engine: Engine = hydra.utils.instantiate(self.cfg.engine)
        return engine

    @cached_property
    def captions(self) -> CaptionSources:
        """The sources of other captions."""
        return CaptionSources(self.pool, **resolved(self.cfg.captions))

    @cached_property
    def evaluation_sets(self) -> list[EvaluationSet | ClassificationSet]:
        """The evaluation sets, cut to their first images by ``evalset.limit``."""
        nodes = evaluation_nodes(self.cfg)
        sets, limit = [self.evaluation_set(name) for name in nodes], self.cfg.evalset.get(LIMIT)
        return sets if limit is None else [evaluation_set.first(limit) for evaluation_set in sets]

    def evaluation_set(self, name: str) -> EvaluationSet | ClassificationSet:
        """Return one evaluation set, with all its images."""
        return provide(partial(self._find_evaluation_set, name))

    @cached_property
    def metrics(self) -> list[CaptionMetric]:
        """The metrics of captions."""
        return [build_part(f"metrics.{name}", node) for name, node in self.cfg.metrics.items()]

    @cached_property
    def models(self) -> dict[str, Downstream]:
        """The downstream models by name; they load their starting weights when they are trained."""
        return {str(n): build_part(f"downstream.{n}", node) for n, node in self.cfg.downstream.items()}

    @cached_property
    def device(self) -> torch.device:
        """The device of the downstream models."""
        return resolve_device(self.cfg.device)

    @cached_property
    def tracker(self) -> Tracker:
        """The experiment tracker, of the main process of a launch; the others log nowhere."""
        tracker: Tracker = hydra.utils.instantiate(self.cfg.tracker) if is_main_process() else NoTracker()
        return tracker

    @cached_property
    def contaminated(self) -> UidArray | None:
        """The sorted uids of the pairs with an evaluation image, if these are left out; else None."""
        if not self.cfg.selection.exclude_contaminated:
            return None
        if not (self.pool.tars and self.pool.is_local):
            raise UserError(
                f"selection.exclude_contaminated compares images, and those of pool {self.pool.name} are not on this"
                " machine; download them, or leave it out"
            )
        from benchmark.results.contamination import contaminated

        return contaminated(self.pool, self.evaluation_sets)

    @cached_property
    def left_out(self) -> dict[str, str]:
        """The number and a hash of the pairs that are left out before a selection, by reason; empty without any."""
        shards = scored_shards(self.pool, self.filter) if self.cfg.pool.get("exclude") else []
        excluded = excluded_uids(self.pool, shards) if shards else None
        found = {CONTAMINATED: self.contaminated, EXCLUDED: excluded}
        return {
            reason: f"{len(uids):,} pairs, {hash_bytes(uids.tobytes(), 12)}"
            for reason, uids in found.items()
            if uids is not None
        }

    @property
    def validates(self) -> bool:
        """Whether a model is validated while it trains."""
        return any(model.training.validate_every for model in self.models.values())

    def leave_out_evaluation_sets(self) -> None:
        """Evaluate nothing: the folders of evaluation sets need not be set, unless their images are left out."""
        if not self.cfg.selection.exclude_contaminated:
            OmegaConf.update(self.cfg, "evalset", {}, merge=False)

    def check(self) -> None:
        """Raise `UserError` with everything that is missing or wrong, the pool first; log what comes on first use.

        Takes seconds: nothing is scored, drawn, fetched or trained. Unless the command is a plan, the downstream
        models are tried once, see `trials`.
        """
        task = str(self.cfg.task._target_)
        if not task.startswith("benchmark."):  # ours import torch
            require_kind("task", f"task._target_={task}", locate(f"task._target_={task}", task))
        found = with_disk(self.requirements(self.task))
        missing = {r.detail: part for part, of in found.items() for r in of if r.state is State.MISSING}
        if not missing and "downstream" in self.needs(self.task) and not self.cfg.plan:
            missing = {r.detail: "downstream" for r in self.trials() if r.state is State.MISSING}
        if missing:
            weights = self.choices.get("models") == "paper" and "checkpoint" in " ".join(missing)
            helps = (weights and "evalset" in self.needs(self.task)) or bool(
                {"evalset=paper", f"evalset={AVAILABLE}"} & {*missing.values()}
            )
            raise MistakesError(join_details(missing) + [WAYS_ON] * helps)
        self._leave_out_absent_sets(found)
        self.checked = True
        for part, of_part in found.items():
            for state, heading in LOGGED.items():
                told = [r for r in of_part if r.state is state]
                if state is State.WITHOUT and part.startswith("metrics") and not self.cfg.plan:
                    self.absent, told = tuple(told), []
                for line in join_details(f"{r.name}: {r.detail}" for r in told):
                    _log_once(f"{part}: {heading}: {line.removeprefix(part.partition('=')[0] + ': ')}")

    def _leave_out_absent_sets(self, found: dict[str, list[Requirement]]) -> None:
        """Drop evaluation sets that may be absent, and are, from the command, as ``'~evalset.NAME'`` does."""
        names = {r.name for of in found.values() for r in of if r.state is State.WITHOUT}
        absent = [name for name in evaluation_nodes(self.cfg) if name in names]
        for part, of_part in found.items():
            found[part] = [r for r in of_part if r.name not in absent]
        if absent:
            kept = {name: node for name, node in self.cfg.evalset.items() if name not in absent}
            OmegaConf.update(self.cfg, "evalset", kept, merge=False)
            self.overrides = [*self.overrides, *(f"~evalset.{name}" for name in absent)]
            _log_once(
                f"evalset: {' and '.join(absent)} {'is' if len(absent) == 1 else 'are'} not on this machine, and left"
                " out; task=doctor says how to get the files"
            )

    def needs(self, task: str) -> frozenset[str]:
        """Return the parts of a command that a task needs; other tasks list them in `task.needs`."""
        return NEEDS.get(task) or frozenset(self.cfg.task.get("needs") or ())

    def requirements(self, task: str) -> dict[str, list[Requirement]]:
        """Return what the command needs if its task is `task`, by part, as ``filter=icc``; nothing is made for it."""
        needed = self.needs(task)
        if "size" in needed and self.cfg.selection.exclude_contaminated:
            needed |= {"evalset"}
        if not is_main_process():  # the other processes of a launch only train
            needed &= {"budget", "downstream", "cache"}
        found = {}
        for part, find in PARTS.items():
            if part in needed:
                chosen = part in self.choices and part != "size"  # any number
                name = f"{part}={self.choices[part]}" if chosen else part
                found[name] = list(dict.fromkeys(_or_error(part, partial(find, self))))
        return found

    def trials(self) -> Found:
        """Try the downstream models that have checkpoints here, see `Trainable.tried`; yield whether each works."""
        with suppress(*USER_ERRORS):  # models that cannot be made, as their own requirements say
            for name, model in self.models.items():
                if all(requirement.state is State.PRESENT for requirement in model.requirements()):
                    yield look(name, model.tried)

    def run(self) -> Finished | None:
        """Check the command unless `check` has, and run its task. Raises `UserError` for any mistake of the user."""
        try:
            with user_errors(), disk_errors_as_one_line(), lost_processes_as_one_line(), panics_as_errors():
                if not self.checked:
                    self.check()
                task: Callable[[Job], Finished | None] = hydra.utils.get_method(self.cfg.task._target_)
                # In a sweep without a tracker a run has no verdict and reads only records.
                of_sweep = self.task == "run" and self.sweep is not None and not self.cfg.task.get("stop")
                depth = 0 if of_sweep and isinstance(self.tracker, NoTracker) else DEPTH
                with writable_folder(str(self.cfg.results_dir), depth) as folder:
                    OmegaConf.update(self.cfg, "results_dir", str(folder))
                    finished = task(self)
                if self.absent and not (finished and (finished.skipped or finished.left_out)):
                    names = ", ".join(r.name.partition(" for ")[2] for r in self.absent)
                    _log_once(f"metrics without a value: {names}; task=doctor says how to get them")
                return finished
        finally:  # models hold weights, which the other jobs of a sweep need not keep
            for name in vars(self).keys() - {part.name for part in fields(self)}:
                del vars(self)[name]

    @cached_property
    def listed_pool(self) -> Pool | None:
        """The pool; None if it is missing, or not drawn yet, which its own requirement says."""
        try:
            return self._find_pool()
        except (*USER_ERRORS, OnFirstUseError):
            return None

    def _find_pool(self) -> Pool:
        if "demo" in self.cfg.pool and "columns" in self.cfg.pool:
            raise UserError("pool.columns is for your own pool; add pool=img2dataset pool.url=FOLDER")
        pool: Pool = self._build_once(self.cfg.pool)
        return pool

    def _find_evaluation_set(self, name: str) -> EvaluationSet | ClassificationSet:
        found: EvaluationSet | ClassificationSet = self._build_once(
            evaluation_nodes(self.cfg)[name], partial(build_part, f"evalset.{name}")
        )
        return found

    def _build_once(self, node: DictConfig, construct: Callable[[DictConfig], Any] = build) -> Any:
        settings = json.dumps(resolved(node), sort_keys=True)
        if settings not in self.built:
            self.built[settings] = construct(node)
        return self.built[settings]


def with_disk(found: dict[str, list[Requirement]]) -> dict[str, list[Requirement]]:
    """Return requirements, and whether each disk has room for those that come on first use."""
    later = (r for of_part in found.values() for r in of_part if r.state is State.FIRST_USE)
    return found | {"disk": list(disk_space(later))}


def _or_error(name: str, find: Callable[[], Iterable[Requirement]]) -> Found:
    """Yield the requirements, and last the error that ended them."""
    try:
        yield from find()
    except (OnFirstUseError, AbsentError) as error:
        yield lacking(name, error)
    except USER_ERRORS as error:
        yield Requirement(name, State.MISSING, explain(error))


def _pool(job: Job) -> Found:
    pool = job._find_pool()
    yield Requirement(pool.name, State.PRESENT, pool.url)
    if pool.exclude:
        exclusion_lists(pool)  # checks them


def _built(make: Callable[[Job], object], job: Job) -> Iterable[Requirement]:
    make(job)  # checks its settings and extras
    return ()


def _readers(find: Callable[[Job], Iterable[Filter]], job: Job) -> Found:
    for reader in find(job):
        yield from reader.requirements()
        if job.listed_pool:
            check_columns(job.listed_pool, reader)


def _models(job: Job) -> Found:
    if job.choices.get("models") == "demo" and "demo" not in job.cfg.pool:
        _log_once("models=demo: dry run with toy models; do not compare its result with real models")
    device = device_type(job.cfg.device)
    for model in job.models.values():
        check_computed(model.training.precision_on(device), device)
        yield from model.requirements()
    if job.listed_pool:
        job.listed_pool.shards(frozenset({"image"}))


def _evaluation_sets(job: Job) -> Found:
    found = [r for name in evaluation_nodes(job.cfg) for r in _or_error(name, partial(_images, job, name))]
    if found and all(r.state is State.WITHOUT for r in found):  # at least the first: COCO
        found[0] = replace(found[0], state=State.MISSING)
    yield from found


def _images(job: Job, name: str) -> Found:
    try:
        yield Requirement(name, State.PRESENT, f"{len(job._find_evaluation_set(name)):,} images")
    except AbsentError as error:
        # evalset=available leaves a set out, unless the user names its files.
        files = (f"evalset.{name}.annotations=", f"evalset.{name}.images=")
        is_named = any(override.lstrip("+").startswith(files) for override in job.overrides)
        if job.choices.get("evalset") != AVAILABLE or is_named or f"{name.upper()}_ROOT" in os.environ:
            raise
        yield lacking(name, error, State.WITHOUT)


def _metrics(job: Job) -> Found:
    if job.task != "evaluate" and not any(hasattr(model, "caption") for model in job.models.values()):
        if job.choices.get("metrics") != "default":
            _log_once(
                f"metrics: {', '.join(job.models)} writes no captions, so no metric of captions is computed"
            )
        return
    from downstream.metrics.corpus_scores import count_names
    from downstream.metrics.intervals import LABEL

    scores = Counter(name for metric in job.metrics for name in metric.names)
    scores.update([LABEL, *count_names("METEOR"), *count_names("BLEU-4")])
    if twice := [name for name, times in scores.items() if times > 1]:
        raise UserError(f"{twice[0]!r} is the name of other scores; rename that metric of yours")
    used_by: dict[Requirement, list[str]] = defaultdict(list)
    for metric in job.metrics:
        for requirement in metric.requirements():
            used_by[requirement] += metric.names
    for requirement, names in used_by.items():
        yield replace(requirement, name=f"{requirement.name} for {', '.join(names)}")


def _writable(setting: str, job: Job) -> Found:
    folder = OmegaConf.select(job.cfg, setting, throw_on_missing=True)
    if folder is not None and "://" in str(folder):
        check_writable(str(folder))
    elif folder is not None:
        yield look(setting, lambda: require_writable(setting, Path(str(folder))))


def _cache(_: Job) -> Found:
    # A read-only cache may hold all that the command needs; without it, the first write ends the command.
    if not cache_dir().is_dir() or os.access(cache_dir(), os.W_OK):
        yield look("XDG_CACHE_HOME", lambda: require_writable("XDG_CACHE_HOME", cache_dir()))


PARTS: dict[str, Callable[[Job], Iterable[Requirement]]] = {
    "pool": _pool,
    "size": partial(_built, lambda job: check_size(job.cfg, job.listed_pool, job.selector.repeats)),
    "budget": partial(_built, lambda job: check_budget(job.cfg, job.overrides)),
    "filter": partial(_readers, lambda job: [job.filter]),
    "task.filters": partial(_readers, lambda job: job.compared_filters.values()),
    "selector": partial(_readers, lambda job: job.selector.readers()),
    "engine": partial(_built, lambda job: job.engine),
    "captions": partial(_built, lambda job: job.listed_pool and job.captions),
    "downstream": _models,
    "evalset": _evaluation_sets,
    "validation": lambda job: _evaluation_sets(job) if job.validates else (),
    "metrics": _metrics,
    "tracker": partial(_built, lambda job: job.tracker),
    "results_dir": partial(_writable, "results_dir"),
    "task.output": partial(_writable, "task.output"),
    "training.shards": partial(_writable, "training.shards"),
    "cache": _cache,
}
SCORE = frozenset({"pool", "filter", "engine", "cache"})
SELECT = SCORE | {"size", "selector"}
TRAIN = SELECT | {"budget", "captions", "downstream", "tracker", "training.shards"}
# The parts of a command that each task needs.
NEEDS = {
    "score": SCORE,
    "publish": SCORE | {"task.output"},
    "agreement": frozenset({"pool", "task.filters", "engine", "results_dir", "cache"}),
    "select": SELECT,
    "reshard": SELECT | {"task.output"},
    "export": SELECT | {"task.output"},
    "train": TRAIN | {"validation"},
    "run": TRAIN | {"evalset", "metrics", "results_dir"},
    "evaluate": frozenset({"evalset", "metrics", "results_dir", "cache"}),
}


@cache
def _log_once(line: str) -> None:
    """Log a line that the runs of a sweep would repeat."""
    log.info(line)
