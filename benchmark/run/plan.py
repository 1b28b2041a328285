"""``plan=true``: the jobs of a command, which stages are cached, and the time and disk that the others need.

Nothing is scored, drawn or fetched to find out. Times are medians over earlier results, see `Timings`.
"""

import json
import os
import statistics
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import timedelta
from functools import cache, partial
from pathlib import Path
from typing import Any

import pyarrow as pa
from omegaconf import OmegaConf

from benchmark.core.devices import device_type
from benchmark.core.errors import UserError
from benchmark.core.paths import REFERENCE_RESULTS, cache_folder, portable_paths
from benchmark.core.records import scan_records
from benchmark.core.requirements import OnFirstUseError, Requirement, State
from benchmark.results.protocol import LIMIT
from benchmark.results.provenance import machine
from benchmark.results.report.table import Table, plain
from benchmark.results.result import Result
from benchmark.run.config import UNBOUNDED, USER_ERRORS, filter_settings, recorded
from benchmark.run.identity import earlier_result, make_run_id, training_fingerprint, training_folder
from benchmark.run.job import Job
from benchmark.run.select import Selected, subset_path
from benchmark.scoring.score_folder import score_folder, score_paths
from downstream.metrics.base import CaptionMetric
from downstream.models.base import Downstream
from downstream.training.train_report import finished
from downstream.training.trainer import recipe_key
from filters.base import Filter

TASKS = ("score", "select", "train", "run")
CACHED, TO_DO, SHARED = "cached", "to do", "with a job above"
HEADER = ["job", "scores", "selection", "training", "result", "time"]
DRAWING_SECONDS_PER_PAIR = 0.0008  # of the demo, on the two cores of the reference results' machine
BYTES_PER_SCORE = 24  # uid and score

OF_REFERENCE = "the reference results, on their machine"
# Settings of a training that do not change the seconds per sample.
FREE = {"samples_seen", "seed", "lr", "warmup_ratio", "warmup_steps", "weight_decay"}
FREE |= {"checkpoint_every", "log_every", "validate_every", "workers"}


class Timings:
    """Seconds of earlier results on this type of device (``cpu``, ``cuda``): of this machine, or of the reference."""

    def __init__(self, results: Path, device: str) -> None:
        self._device = device
        changed_ns = results.stat().st_mtime_ns if results.is_dir() else 0
        own = [r for r in _results(results, changed_ns) if r.machine == machine()]
        self._sources = {f"{results}, on this machine": own}
        if device == "cpu":
            self._sources.setdefault(OF_REFERENCE, _results(REFERENCE_RESULTS, 0))  # all of a CPU

    def median(self, seconds_of: Callable[[Result], float | None]) -> tuple[float | None, str]:
        """Return the median over the results for which a function knows the seconds, and whose results they are."""
        for source, results in self._sources.items():
            if known := [seconds for result in results if (seconds := seconds_of(result)) is not None]:
                return statistics.median(known), source
        return None, ""

    def stage(self, result: Result, name: str) -> float | None:
        """Return the seconds of a stage of a result on this type of device."""
        stage = result.stages.get(name)
        return stage.wall_seconds if stage and stage.device == self._device else None

    def training(self, name: str, settings: Mapping[str, Any]) -> tuple[float | None, str]:
        """Return the seconds of training a model with these settings of ``downstream.NAME``, as `median` does."""

        def seconds(result: Result) -> float | None:
            trained = result.downstream.get(name)
            if trained is None or self.stage(result, f"train/{name}") is None:
                return None
            if _recipe(result.config["downstream"][name]) != _recipe(settings):
                return None
            samples = int(settings["training"]["samples_seen"])
            return samples * trained.training.seconds / trained.training.samples_seen

        return self.median(seconds)


@cache
def _results(folder: Path, changed_ns: int) -> list[Result]:
    return list(scan_records(folder, Result)[0].values()) if folder.is_dir() else []


@dataclass
class Plan:
    """The plan of several jobs: `rows` of cells, the time and disk of all of them, and the unknown parts of these."""

    rows: list[list[str]] = field(default_factory=list)
    seconds: float = 0.0
    disk: int = 0
    sources: dict[str, None] = field(default_factory=dict)  # whose seconds they are
    unknown: dict[str, None] = field(default_factory=dict)  # such as "the size of scoring with icc"
    again: list[Path] = field(default_factory=list)  # results that are there, and will be made again
    requirements: dict[Requirement, None] = field(default_factory=dict)  # what will be fetched or drawn
    done: set[str] = field(default_factory=set)  # keys of the stages that the jobs so far make

    def add(self, name: str, job: Job) -> None:
        """Add a job, named `name` in its row. Raises `UserError` if its task cannot be planned."""
        if job.task not in TASKS:
            raise UserError(f"plan=true is for task={', '.join(TASKS)}; leave it out with task={job.task}")
        for part in job.requirements(job.task).values():
            for requirement in part:
                if requirement.state is State.FIRST_USE and requirement not in self.requirements:
                    self.requirements[requirement] = None
                    self.disk += requirement.size
        self.rows.append([name, *_JobPlan(self, job).cells()])

    def table(self) -> Table:
        """Return a row per job; below the rows, time and disk of all of them, and the unknown parts of these."""
        time, source = timedelta(seconds=round(self.seconds)), " and ".join(self.sources)
        notes = [
            f"Time: about {time}{f', as in {source}' if source else ''}.",
            f"Disk: about {self.disk / 1e6:,.0f} MB in the cache.",
            *([f"No earlier run tells {', '.join(self.unknown)}."] if self.unknown else []),
            *(f"{path} is there; a single run is made again, and replaces it." for path in self.again),
            *(f"First use: {requirement.name}: {requirement.detail}" for requirement in self.requirements),
            "Nothing was run. Leave out plan=true to run it.",
        ]
        title = f"Plan of {len(self.rows)} job{'s' * (len(self.rows) > 1)}"
        return Table(title, HEADER, [plain(*row) for row in self.rows], notes)


class _JobPlan:
    """The stages of one job, each added to the plan unless it is cached or a job above makes it."""

    def __init__(self, plan: Plan, job: Job) -> None:
        self.plan, self.job = plan, job
        self.timings = Timings(job.results_dir, device_type(job.cfg.device))
        self.seconds, self.complete = 0.0, True
        self.pool = job.listed_pool
        settings = f"{recorded(job.cfg.filter)} {recorded(job.cfg.pool)}"
        self.scores_key, self.subset = settings, f"{settings} {job.cfg.size.samples} {job.cfg.seed}"
        self.shards = self.parts = 0
        self.selected = False
        if self.pool is not None and _are_here([job.filter]):
            self.scores_key, path = str(score_folder(job.pool, job.filter)), subset_path(job)
            self.subset = str(path)
            parts = list(score_paths(job.pool, job.filter).values())
            if not all(part.is_file() for part in parts):  # a composite is scored from its parts
                parts = [p for leaf in job.filter.leaves() for p in score_paths(job.pool, leaf).values()]
            self.shards, self.parts = len(parts), sum(part.is_file() for part in parts)
            self.selected = path.with_suffix(".json").is_file() and self.parts == self.shards

    def cells(self) -> list[str]:
        """Return the cells of the job's row."""
        if result := self._earlier_result():
            return [CACHED, CACHED, CACHED, str(result), "0:00:00"]
        task = self.job.task
        scores = self._scores()
        selection = "" if task == "score" else self._begin(self.subset, done=self.selected)
        trainings = self._trainings() if task in ("train", "run") else ""
        evaluations = self._evaluations() if task == "run" else ""
        if self.selected and task == "run" and not self.job.sweep and not self.job.captions:
            result = self.job.results_dir / f"{make_run_id(self.job, None)}.json"
            self.plan.again += [result] * result.is_file()
        time = timedelta(seconds=round(self.seconds))
        return [scores, selection, trainings, evaluations, f"{time}" if self.complete else f"over {time}"]

    def _begin(self, key: str, *, done: bool) -> str:
        """Return the state of the stage with that key; it is shared with the jobs below."""
        if done:
            return CACHED
        state = SHARED if key in self.plan.done else TO_DO
        self.plan.done.add(key)
        return state

    def _charge(self, stage: str, time: tuple[float | None, str], size: int | None = 0) -> None:
        seconds, source = time
        if seconds is None:
            self.plan.unknown[f"the time of {stage}"] = None
            self.complete = False
        else:
            self.plan.sources[source] = None
        if size is None:
            self.plan.unknown[f"the size of {stage}"] = None
        self.seconds += seconds or 0
        self.plan.seconds += seconds or 0
        self.plan.disk += size or 0

    def _scores(self) -> str:
        cfg = self.job.cfg
        pairs = self.pool.count() if self.pool is not None else OmegaConf.select(cfg, "pool.demo.pairs")
        if self.pool is None and self._begin(f"pool {cfg.pool}", done=False) == TO_DO:
            seconds = None if pairs is None else DRAWING_SECONDS_PER_PAIR * pairs
            self._charge(f"making pool {cfg.pool.name}", (seconds, OF_REFERENCE))
        state = self._begin(self.scores_key, done=0 < self.shards == self.parts)
        if state != TO_DO:
            return state
        missing = None if pairs is None else pairs * (1 - self.parts / max(self.shards, 1))
        settings = _scoring_settings(recorded(filter_settings(cfg)))
        per_pair, source = self.timings.median(partial(self._scoring_seconds, settings))
        time = None if missing is None or per_pair is None else per_pair * missing
        self._charge(
            f"scoring with {self.job.choices['filter']}", (time, source), self._scoring_bytes(missing)
        )
        return f"{self.parts} of {self.shards} shards cached" if self.parts else state

    def _scoring_seconds(self, settings: str, result: Result) -> float | None:
        """Return the seconds per pair of a result of the same filter: of its stage, or shared by the workers."""
        cfg, scored = self.job.cfg, result.pairs_read
        seconds = self.timings.stage(result, "select")
        same = _scoring_settings(result.selection.config) == settings
        if seconds is None or not same or result.pool != cfg.pool.name or not scored:
            return None
        cores = os.cpu_count() or 1 if device_type(cfg.device) == "cpu" else 1
        workers = int(OmegaConf.select(cfg, "engine.workers") or cores)
        return max(seconds if result.scoring.reused == 0 else 0, result.scoring.seconds / workers) / scored

    def _scoring_bytes(self, pairs: float | None) -> int | None:
        """Return the bytes of scores and features, by the size of cached features of other pairs."""
        size = BYTES_PER_SCORE
        try:
            for key in self.job.filter.all_features():
                file = next(cache_folder("features").glob(f"*/{key}/*.arrow"))
                with pa.memory_map(str(file)) as source:
                    size += file.stat().st_size / pa.ipc.open_file(source).read_all().num_rows
        except (*USER_ERRORS, OnFirstUseError, StopIteration, ZeroDivisionError):
            return None
        return None if pairs is None else round(pairs * size)

    def _trainings(self) -> str:
        states = {}
        for name, model in self.job.models.items():
            settings = recorded(self.job.cfg.downstream[name])
            key = f"{self.subset} {name} {settings}"
            states[name] = self._begin(key, done=self._is_trained(model))
            if states[name] == TO_DO:
                time = self.timings.training(name, settings)
                models = cache_folder("trained").glob(f"{name}-*/model")
                sizes = [sum(file.stat().st_size for file in model.iterdir()) for model in models]
                self._charge(f"training {name}", time, max(sizes, default=None))
        return ", ".join(f"{name} {state}" for name, state in states.items())

    def _is_trained(self, model: Downstream) -> bool:
        """Return whether a training is finished; none is found if the samples have other captions."""
        if not self.selected or self.job.captions or not _are_here([model]):
            return False
        manifest = json.loads(Path(self.subset).with_suffix(".json").read_text(encoding="utf-8"))
        fingerprint = training_fingerprint(model, manifest["sha256"], device_type(self.job.cfg.device))
        return finished(training_folder(model, fingerprint), fingerprint) is not None

    def _evaluations(self) -> str:
        config = recorded(self.job.cfg)
        for name in self.job.models:
            wanted = _evaluation(config, name)
            time = self.timings.median(partial(self._evaluation_seconds, name, wanted))
            self._charge(f"evaluating {name}", time)
        return TO_DO

    def _evaluation_seconds(self, name: str, wanted: str, result: Result) -> float | None:
        if name not in result.downstream:
            return None
        same = _evaluation(result.config, name) == wanted
        return self.timings.stage(result, f"evaluate/{name}") if same else None

    def _earlier_result(self) -> Path | None:
        """Return the path of the result that a sweep would not make again; a single run makes its result again.

        A result whose filter has changed since does not count: only a selection shows whether it is still valid.
        """
        job = self.job
        if job.task != "run" or not job.sweep or not self.selected:
            return None
        with suppress(*USER_ERRORS, OnFirstUseError):
            return earlier_result(job, _not_now) if _are_here(job.models.values(), job.metrics) else None
        return None


def _are_here(*parts: Iterable[Filter | Downstream | CaptionMetric]) -> bool:
    """Return whether nothing has to be fetched or made for some parts: only then can there be cached work."""
    requirements = (r for some in parts for part in some for r in part.requirements())
    return all(r.state is not State.FIRST_USE for r in requirements)


def _not_now() -> Selected:
    raise OnFirstUseError("selecting needs scores")


def _scoring_settings(settings: Mapping[str, Any]) -> str:
    """Return the settings of a filter that the seconds of scoring depend on."""
    free = {"seed", *UNBOUNDED}
    return _settings_text({name: value for name, value in settings.items() if name not in free})


def _settings_text(settings: Any) -> str:
    """Return settings as text, the same for every place of the checkout; paths in results are portable already."""
    return portable_paths(json.dumps(settings, sort_keys=True))


def _recipe(model: Mapping[str, Any]) -> str:
    """Return the settings that the seconds per sample depend on; settings that are off are left out."""
    given = recipe_key(model["training"], workers=0)
    return _settings_text({**model, "training": {name: given[name] for name in given.keys() - FREE}})


def _evaluation(config: Mapping[str, Any], name: str) -> str:
    """Return the settings that the seconds of an evaluation depend on; sets are told apart by name."""
    sets, drawn = config["evalset"], (config["pool"].get("demo") or {}).get("evaluation")
    model = {**config["downstream"][name], "training": None}
    return _settings_text(
        [sorted(set(sets) - {LIMIT}), sets.get(LIMIT), drawn, sorted(config["metrics"]), model]
    )
