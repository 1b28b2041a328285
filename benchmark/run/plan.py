"""``plan=true``: the jobs of a command, which stages are cached, and the time that the others took in an earlier run.

Nothing is scored, drawn or fetched to find out.
"""

import json
from collections.abc import Collection, Iterable
from contextlib import suppress
from datetime import timedelta
from pathlib import Path

from benchmark.core.devices import device_type
from benchmark.core.errors import UserError
from benchmark.core.requirements import OnFirstUseError, State
from benchmark.results.report.table import Table, plain
from benchmark.run.config import USER_ERRORS
from benchmark.run.identity import (
    earlier_result,
    earlier_seconds,
    stage_settings,
    training_fingerprint,
    training_folder,
    training_input,
)
from benchmark.run.job import Job
from benchmark.run.select import Selected, subset_path, written_subset
from benchmark.scoring.score_folder import score_paths, scored_shards
from downstream.metrics.base import CaptionMetric
from downstream.models.base import Downstream
from downstream.training.train_report import finished
from filters.base import Filter

TASKS = ("score", "select", "train", "run")
CACHED, TO_DO = "cached", "to do"
HEADER = ["job", "scores", "selection", "training", "result", "time"]
NOTES = [
    "Time: of earlier runs with these settings, without downloads and drawing; over: a part has no earlier run.",
    "Nothing was run. Leave out plan=true to run it.",
]


def plan_table(jobs: Iterable[tuple[str, Job]]) -> Table:
    """Return a row per job, each given with its name. Raises `UserError` if the task of a job cannot be planned."""
    rows, times = [], dict[str, float | None]()  # by part: the jobs of one filter share its scoring
    for name, job in jobs:
        if job.task not in TASKS:
            raise UserError(f"plan=true is for task={', '.join(TASKS)}; leave it out with task={job.task}")
        states, of_job = _states(name, job)
        times |= of_job
        rows.append(plain(name, *states, _time(of_job.values())))
    total = [f"All: {_time(times.values())}; a filter is scored once."] * (len(rows) > 1)
    return Table(f"Plan of {len(rows)} job{'s' * (len(rows) > 1)}", HEADER, rows, total + NOTES)


def _time(seconds: Collection[float | None]) -> str:
    """Return the sum of the known seconds as text; "unknown" if none is."""
    known = [of_part for of_part in seconds if of_part is not None]
    if seconds and not known:
        return "unknown"
    return f"{'over ' * (len(known) < len(seconds))}{timedelta(seconds=round(sum(known)))}"


def _states(name: str, job: Job) -> tuple[list[str], dict[str, float | None]]:
    """Return the states of a job's stages, and the seconds that each part to do took in earlier runs."""
    scored, subset = _cached_scores(job)
    if subset and (result := _earlier_result(job)):
        return [CACHED, CACHED, CACHED, str(result)], {}
    trainings, to_do = [], [] if scored else ["select"]
    for of, model in job.models.items() if job.task in ("train", "run") else ():
        trained = subset is not None and _is_trained(job, model, subset)
        trainings.append(f"{of} {CACHED if trained else TO_DO}")
        to_do += [f"train/{of}"] * (not trained) + [f"evaluate/{of}"] * (job.task == "run")
    settings = stage_settings(job, to_do)
    seconds = {
        of if stage == "select" else f"{name} {stage}": earlier_seconds(job, stage, of)
        for stage, of in settings.items()
    }
    selection = "" if job.task == "score" else CACHED if subset else TO_DO
    result_state = TO_DO if job.task == "run" else ""
    return [CACHED if scored else TO_DO, selection, ", ".join(trainings), result_state], seconds


def _cached_scores(job: Job) -> tuple[bool, Path | None]:
    """Return whether all scores are cached, and the path of the cached selection."""
    # A pool that was never read is not read for its plan, although it may be a copy of another.
    if job.listed_pool is None or not _are_here([job.filter]):
        return False, None
    if not all(shard.is_identified for shard in scored_shards(job.pool, job.filter)):
        return False, None
    scored = all(part.is_file() for part in score_paths(job.pool, job.filter).values())
    path = subset_path(job)
    return scored, path if scored and path.with_suffix(".json").is_file() else None


def _is_trained(job: Job, model: Downstream, subset: Path) -> bool:
    """Return whether a training is finished; none is found if the samples have other captions."""
    if job.captions or not _are_here([model]):
        return False
    record = written_subset(subset).with_suffix(".json")
    manifest = json.loads(record.read_text(encoding="utf-8"))
    pairs = training_input(job, manifest["sha256"])
    fingerprint = training_fingerprint(model, pairs, device_type(job.cfg.device))
    return finished(training_folder(model, fingerprint), fingerprint) is not None


def _earlier_result(job: Job) -> Path | None:
    """Return the path of the result that a sweep would not make again; a single run makes its result again.

    A result whose filter has changed since does not count: only a selection shows whether it is still valid.
    """

    def not_now() -> Selected:
        raise OnFirstUseError("selecting needs scores")

    with suppress(*USER_ERRORS, OnFirstUseError):
        if job.task == "run" and job.sweep and _are_here(job.models.values(), job.metrics):
            return earlier_result(job, not_now)
    return None


def _are_here(*parts: Iterable[Filter | Downstream | CaptionMetric]) -> bool:
    """Return whether nothing has to be fetched or made for some parts: only then can there be cached work."""
    requirements = (r for some in parts for part in some for r in part.requirements())
    return all(r.state is not State.FIRST_USE for r in requirements)
