"""The benchmark from Python: whole runs, their stages, their results, and the parts that configs name.

All functions share their caches with the command line, and raise `UserError` for mistakes of the caller. Settings
have the names that they have there, and values of Python: text is taken literally, never as a list or a sweep.
"""

import functools
import inspect
import reprlib
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from importlib.util import find_spec
from pathlib import Path
from typing import Any, ParamSpec, TypeVar

import pyarrow as pa
from pydantic import ConfigDict, InstanceOf, ValidationError, validate_call

from benchmark.cli.jobs import job_of
from benchmark.cli.process import set_environment
from benchmark.cli.values import compose_values
from benchmark.core.batch import Batch
from benchmark.core.bounds import Bounds
from benchmark.core.devices import resolve_device
from benchmark.core.disk import require_writable
from benchmark.core.errors import UserError, did_you_mean, disk_errors_as_one_line
from benchmark.core.output_folder import local_copy
from benchmark.core.paths import user_path
from benchmark.core.ranges import Device, PositiveInt, Processes, Seed
from benchmark.core.records import scan_records
from benchmark.core.storage import local_path
from benchmark.core.uids import write_subset
from benchmark.engine.local import LocalEngine
from benchmark.pool.pool import Pool
from benchmark.pool.subset import index_tars
from benchmark.results.report.leaderboard import leaderboards
from benchmark.results.report.report_data import HEADER, result_rows
from benchmark.results.result import Result
from benchmark.results.results_folders import read_runs
from benchmark.results.trackers import NoTracker
from benchmark.run.config import register_resolvers, shipped_names, user_errors
from benchmark.run.job import Job
from benchmark.run.open_samples import open_subset
from benchmark.run.train import train_model
from benchmark.scoring.score_pool import score_pool
from benchmark.scoring.score_table import ScoreTable
from benchmark.selection.bounded import select_within
from benchmark.selection.selection import Selection
from benchmark.selection.top_k import select_top_k
from downstream.evaluation.classification_sets import ClassificationSet
from downstream.evaluation.evaluation_sets import EvaluationSet
from downstream.metrics.base import CaptionMetric
from downstream.metrics.metric import Metric
from downstream.models.base import Downstream
from downstream.models.published import Published, PublishedCaptions
from filters.base import Filter, Scores

__all__ = [
    "Batch", "Bounds", "Filter", "Pool", "Result", "ScoreTable", "Scores", "Selection", "UserError",
    "evaluate", "get_filter", "get_metric", "get_model", "load_results", "report", "run", "score", "select", "train",
]  # fmt: skip
P = ParamSpec("P")
T = TypeVar("T")
# By their names, or nested: text, numbers, truth values, None, paths, and lists of these.
Settings = Mapping[str, Any]
OWN = "img2dataset"  # the config of a user's pool, with the papers' checkpoints


def _checked(call: Callable[P, T]) -> Callable[P, T]:
    """Let a function raise `UserError` for wrong arguments, and for errors of configurations and disks."""
    names = list(inspect.signature(call).parameters)
    validated = validate_call(config=ConfigDict(arbitrary_types_allowed=True, strict=True))(call)

    @functools.wraps(call)
    def checked(*arguments: P.args, **named: P.kwargs) -> T:
        try:
            with user_errors(), disk_errors_as_one_line():
                return validated(*arguments, **named)
        except ValidationError as error:
            first, *others = error.errors()
            place, kind = first["loc"][0], first["type"]
            name = names[place] if isinstance(place, int) and place < len(names) else place
            if kind == "unexpected_keyword_argument":
                raise UserError(f"there is no argument {name!r}; {did_you_mean(str(name), names)}") from None
            if kind in ("missing_argument", "unexpected_positional_argument"):
                raise UserError(f"{call.__name__}: {first['msg'].lower()} {name}") from None
            said = dict.fromkeys(e["msg"] for e in (first, *others) if e["loc"][0] == place)
            must = " or ".join(said).replace("or Input should be", "or").replace("Input should", "must")
            raise UserError(f"{name}={reprlib.repr(first['input'])} {must}") from None

    return checked


@_checked
def run(
    settings: Settings | None = None,
    *,
    pool: Pool | Path | str | None = None,
    filter: str | None = None,  # noqa: A002
    size: int | str | None = None,
    budget: int | str | None = None,
    seed: int | None = None,
    selector: str | None = None,
    downstream: str | Sequence[str] | None = None,
    evalset: str | Sequence[str] | None = None,
    metrics: str | Sequence[str] | None = None,
    models: str | None = None,
    results_dir: Path | str | None = None,
) -> Result:
    """Score, select, train and evaluate: ``run(pool=Path("/data/mine"), filter="clip", size=50_000)``.

    A run whose result is in ``results_dir`` is not made again, as in a sweep.

    Args:
        settings: any other settings by their names, such as ``{"filter.minimum": 0.28}``.
        pool: a folder or fsspec URL in the layout of img2dataset or DataComp, the name of a config, or a `Pool`.
        filter: the name of a config, or ``MODULE:NAME``; as `selector`, and `downstream`, which may also be a list.
        size: the number of pairs to keep, such as 200_000, ``200k`` or ``all``; `budget`, of samples to train on.
    """
    given = {name: value for name, value in locals().items() if name != "settings" and value is not None}
    job = _job(settings, given)
    if job.task != "run" or job.cfg.plan or job.cfg.task.stop:
        raise UserError(
            "run(...) makes whole runs; type other tasks, plan=true and task.stop on the command line"
        )
    local_path("results_dir", str(job.cfg.results_dir))
    finished = job.run()
    assert finished is not None  # only processes of a launch that are not its main one return nothing
    assert finished.path is not None
    return scan_records(finished.path.parent, Result)[0][finished.path]


@_checked
def report(results_dir: Path | str = "results", settings: Settings | None = None) -> Path:
    """Print the tables of all results and write the report to `results_dir`; return the path of its page."""
    folder = local_path("results_dir", str(results_dir))
    _job(settings, {"results_dir": results_dir, "task": "report"}).run()
    return folder / "report.html"


@_checked
def load_results(results_dir: Path | str = "results") -> Any:
    """Return a table with a row per run, model, evaluation set and metric, with its unit and 95% interval.

    It is a pandas DataFrame if pandas is installed, else a `pyarrow.Table`. Raises `UserError` without results.
    """
    with local_copy(str(results_dir)) as folder:
        boards = leaderboards(read_runs(folder))
    if not boards:
        raise UserError(f"results_dir={results_dir} holds no results; call run(...) first")
    table = pa.Table.from_pylist([dict(zip(HEADER, row, strict=True)) for row in result_rows(boards)])
    return table.to_pandas() if find_spec("pandas") else table


@_checked
def get_filter(name: str, settings: Settings | None = None) -> Filter:
    """Return the filter ``filter=name``, without its bounds; `score` takes the name, and its bounds count."""
    return _part("filter", name, settings, lambda job: [job.filter])


@_checked
def get_metric(name: str, settings: Settings | None = None) -> CaptionMetric:
    """Return the caption metric ``metrics=name``, for example ``get_metric("cider")``."""
    return _part("metrics", name, settings, lambda job: job.metrics)


@_checked
def get_model(name: str, settings: Settings | None = None) -> Downstream:
    """Return the untrained model ``downstream=name``: ``get_model("captioner", {"models": "demo"})``."""
    return _part("downstream", name, settings, lambda job: job.models.values())


@_checked
def score(
    pool: Pool | Path | str,
    filter: Filter | str,  # noqa: A002
    settings: Settings | None = None,
    device: Device = "auto",
    workers: Processes = 1,
) -> ScoreTable:
    """Score every pair of a pool, or read what an earlier call or command scored.

    Args:
        pool: a folder or fsspec URL in the layout of img2dataset or DataComp, the name of a config, or a `Pool`.
        filter: the filter or its name.
        settings: as for `run`, for example ``{"models": "demo", "filter.minimum": 0.28}``.
        device: ``auto``, ``cpu``, ``cuda`` (all GPUs) or ``cuda:N``.
        workers: number of processes. With several, a script must call this below ``if __name__ == "__main__":``, and
            the filter's class must be importable.

    Returns `uids` (n,), sorted, with their `scores` (n,), NaN for pairs that cannot be scored; `drops` counts the
    pairs that could not be read, by reason; `bounds` are the filter's.
    """
    engine = LocalEngine(device, workers)
    # Settings such as filter.minimum also count for an object.
    job = _job(settings, {"pool": pool, "filter": filter if isinstance(filter, str) else "random"})
    scorer = job.filter if isinstance(filter, str) else filter
    table = score_pool(pool if isinstance(pool, Pool) else job.pool, scorer, engine)
    return replace(table, bounds=job.bounds)


@_checked
def select(
    table: InstanceOf[ScoreTable],
    k: PositiveInt,
    path: Path | str | None = None,
    seed: Seed = 0,
    bounds: InstanceOf[Bounds] | None = None,
) -> Selection:
    """Select exactly k pairs: the highest scores within the `bounds`, or k random pairs if these decide.

    Args:
        table: the scores.
        k: number of pairs.
        path: where their uids are written, as DataComp's subset file: a ``.npy`` of sorted ``u8,u8``.
        seed: decides which of equal scores are selected.
        bounds: the scores that pass, by default the table's bounds.
    """
    if path is not None:
        require_writable("path", user_path(path).parent)
        if user_path(path).is_dir():
            raise UserError(f"path={path} must be a file, such as chosen.npy, and is a folder")
    passing = table.bounds if bounds is None else bounds
    selection = select_within(passing, table, lambda within: select_top_k(within, k, seed))
    if path is not None:
        write_subset(user_path(path), selection.uids)
    return selection


@_checked
def train(
    pool: Pool | Path | str, selection: InstanceOf[Selection], model: Downstream, device: Device = "auto"
) -> Path:
    """Train a model on selected pairs for its budget, or load it if the same training has been finished before.

    Args:
        pool: as for `score`, as `device`.
        selection: the selected pairs, which the pool holds with their images.
        model: the untrained model; afterwards it can be evaluated.

    Returns the folder of the training; the weights are in its folder ``model``.
    """
    resolved = resolve_device(device)
    opened = pool if isinstance(pool, Pool) else _job(None, {"pool": pool}).pool
    index_tars(opened, LocalEngine(device))
    subset = open_subset(opened, selection)
    trained = train_model(model, subset, selection.sha256, resolved, NoTracker(), [])
    return Path(trained.checkpoint).parent


@_checked
def evaluate(
    model: Downstream | Published | Path | str,
    sets: Sequence[InstanceOf[EvaluationSet] | InstanceOf[ClassificationSet]],
    metrics: Sequence[CaptionMetric],
    folder: Path | str,
    device: Device = "auto",
) -> dict[str, list[Metric]]:
    """Evaluate a model, or captions, on every evaluation set that fits.

    Args:
        model: a trained `Downstream`, a `Published` model, or a file of captions as COCO's results have them,
            ``[{"image_id", "caption"}]``.
        sets: the evaluation sets.
        metrics: the caption metrics; those of retrieval and classification are always the same.
        folder: where the captions and the scores of each image are written.

    Returns the metrics by the name of their evaluation set; one that cannot be computed has a reason, and no value.
    """
    untrained = inspect.signature(type(model)).parameters if isinstance(model, Downstream) else {}
    if isinstance(model, Downstream) and vars(model).keys() <= untrained.keys():
        raise UserError(f"model={model.name} must be trained; call train(...) first")
    resolved = resolve_device(device)
    candidate = PublishedCaptions(str(model)) if isinstance(model, Path | str) else model
    if isinstance(candidate, Published):
        candidate.load(resolved)
    return candidate.evaluate(sets, metrics, user_path(folder), resolved)


def _job(settings: Settings | None, choices: Settings) -> Job:
    """Return the job of these settings, which count before the `choices`."""
    set_environment()
    register_resolvers()
    return job_of(compose_values(*({**of, **_pool_settings(of)} for of in (choices, settings or {}))))


def _part(group: str, name: str, settings: Settings | None, parts: Callable[[Job], Iterable[T]]) -> T:
    """Return the part that a config of a group names, for a user's pool."""
    job = _job(settings, {"pool": OWN, group: name})
    named = list(parts(job))
    if len(named) > 1:
        raise UserError(f"{group}={name} is {len(named)} parts; name one of {', '.join(job.cfg[group])}")
    return named[0]


def _pool_settings(settings: Settings) -> Settings:
    """Return the settings of the pool among some: of a folder or URL, the name of a config, or a `Pool`."""
    pool, known = settings.get("pool"), shipped_names("pool")
    if isinstance(pool, Pool):
        names = "name", "url", "columns", "scale", "nsfw", "exclude"
        own = {f"pool.{name}": getattr(pool, name) for name in names} | {"+pool.hidden": sorted(pool.hidden)}
        return {"pool": OWN, **{name: value for name, value in own.items() if value}}
    if isinstance(pool, Path) or (
        isinstance(pool, str) and ("/" in pool or (pool not in known and user_path(pool).is_dir()))
    ):
        return {"pool": OWN, "pool.url": pool}
    if isinstance(pool, str) and pool not in known:
        raise UserError(f"pool={pool} must be a folder, a URL or a name; {did_you_mean(pool, known)}")
    return {}
