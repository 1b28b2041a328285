"""``plan=true``: the jobs of a command, which stages are cached, and the time that the others took in an earlier run.

Nothing is scored, drawn or fetched to find out.
"""

import json
from collections.abc import Iterable
from contextlib import suppress
from datetime import timedelta
from pathlib import Path

from benchmark.core.devices import device_type
from benchmark.core.errors import UserError
from benchmark.core.requirements import OnFirstUseError, State
from benchmark.results.report.table import Table, plain
from benchmark.run.config import USER_ERRORS, recorded
from benchmark.run.identity import (
    earlier_result,
    earlier_seconds,
    training_fingerprint,
    training_folder,
    training_input,
)
from benchmark.run.job import Job
from benchmark.run.select import Selected, subset_path, written_subset
from benchmark.scoring.score_folder import score_folder, score_paths, scored_shards
from downstream.metrics.base import CaptionMetric
from downstream.models.base import Downstream
from downstream.training.train_report import finished
from filters.base import Filter

TASKS = ("score", "select", "train", "run")
CACHED, TO_DO, SHARED = "cached", "to do", "with a job above"
HEADER = ["job", "scores", "selection", "training", "result", "time"]


def plan_table(jobs: Iterable[tuple[str, Job]]) -> Table:
    """Return a row per job, each given with its name; below the rows, the time of all of them.

    Raises `UserError` if the task of a job cannot be planned.
    """
    rows, planned, begun = [], [], set[str]()
    for name, job in jobs:
        if job.task not in TASKS:
            raise UserError(f"plan=true is for task={', '.join(TASKS)}; leave it out with task={job.task}")
        planned.append(_JobPlan(job, begun))
        rows.append(plain(name, *planned[-1].cells()))
    seconds = round(sum(job.seconds for job in planned))
    sources = " and ".join(dict.fromkeys(str(source) for job in planned for source in job.sources))
    unknown = ", ".join(dict.fromkeys(stage for job in planned for stage in job.unknown))
    notes = [
        f"Time: about {timedelta(seconds=seconds)}{sources and f', as in {sources}'}, without downloads and drawing.",
        *([f"No earlier run tells the time of {unknown}."] if unknown else []),
        "Nothing was run. Leave out plan=true to run it.",
    ]
    return Table(f"Plan of {len(rows)} job{'s' * (len(rows) > 1)}", HEADER, rows, notes)


class _JobPlan:
    """The stages of one job, and the seconds of those that are neither cached nor made by a job above.

    `begun` holds the keys of the stages that the jobs so far make.
    """

    def __init__(self, job: Job, begun: set[str]) -> None:
        self.job, self.begun = job, begun
        self.seconds = 0.0
        self.sources: list[Path] = []  # folders of the results with these seconds
        self.unknown: list[str] = []  # stages without an earlier run
        settings = f"{recorded(job.cfg.filter)} {recorded(job.cfg.pool)}"
        self.scores_key, self.subset = settings, f"{settings} {job.cfg.size.samples} {job.cfg.seed}"
        self.scored = self.selected = False
        # A pool that was never read is not read for its plan, although it may be a copy of another.
        known = job.listed_pool is not None and _are_here([job.filter])
        if known and all(shard.is_identified for shard in scored_shards(job.pool, job.filter)):
            self.scores_key, path = str(score_folder(job.pool, job.filter)), subset_path(job)
            self.subset = str(path)
            self.scored = all(part.is_file() for part in score_paths(job.pool, job.filter).values())
            self.selected = self.scored and path.with_suffix(".json").is_file()

    def cells(self) -> list[str]:
        """Return the cells of the job's row."""
        if result := self._earlier_result():
            return [CACHED, CACHED, CACHED, str(result), "0:00:00"]
        job, trainings = self.job, []
        scores = self._state(self.scores_key, done=self.scored)
        if scores == TO_DO:
            self._add_time("select", f"scoring with {job.choices['filter']}")
        selection = "" if job.task == "score" else self._state(self.subset, done=self.selected)
        for name, model in job.models.items() if job.task in ("train", "run") else ():
            key = f"{self.subset} {name} {recorded(job.cfg.downstream[name])}"
            state = self._state(key, done=self._is_trained(model))
            trainings.append(f"{name} {state}")
            if state == TO_DO:
                self._add_time(f"train/{name}", f"training {name}")
            if job.task == "run":
                self._add_time(f"evaluate/{name}", f"evaluating {name}")
        time = f"{'over ' * bool(self.unknown)}{timedelta(seconds=round(self.seconds))}"
        return [scores, selection, ", ".join(trainings), TO_DO if job.task == "run" else "", time]

    def _state(self, key: str, *, done: bool) -> str:
        """Return the state of the stage with that key; it is shared with the jobs below."""
        if done:
            return CACHED
        state = SHARED if key in self.begun else TO_DO
        self.begun.add(key)
        return state

    def _add_time(self, stage: str, text: str) -> None:
        if earlier := earlier_seconds(self.job, stage):
            self.seconds += earlier[0]
            self.sources.append(earlier[1])
        else:
            self.unknown.append(text)

    def _is_trained(self, model: Downstream) -> bool:
        """Return whether a training is finished; none is found if the samples have other captions."""
        if not self.selected or self.job.captions or not _are_here([model]):
            return False
        record = written_subset(Path(self.subset)).with_suffix(".json")
        manifest = json.loads(record.read_text(encoding="utf-8"))
        pairs = training_input(self.job, manifest["sha256"])
        fingerprint = training_fingerprint(model, pairs, device_type(self.job.cfg.device))
        return finished(training_folder(model, fingerprint), fingerprint) is not None

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
