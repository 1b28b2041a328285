"""The benchmark from Python: whole runs, their stages, their results, and the parts that configs name.

All functions raise `UserError` for mistakes of the caller, and share their caches with the command line. Settings
are written as there: ``"pool.url=/data/my_pool"``.
"""

from collections.abc import Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pyarrow as pa

from benchmark.cli.jobs import compose_jobs, job_of
from benchmark.cli.overrides import normalised
from benchmark.cli.own_parts import name_own_parts
from benchmark.core.bounds import NO_BOUNDS, Bounds
from benchmark.core.devices import resolve_device
from benchmark.core.errors import UserError
from benchmark.core.output_folder import local_copy
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
from benchmark.run.config import register_resolvers, user_errors
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
from filters.base import Filter


def run(*settings: str) -> Result:
    """Run the benchmark, for example ``run("filter=icc", "size=200k")``: score, select, train, evaluate.

    A run whose result is in ``results_dir`` is not made again, as in a sweep.
    """
    job = _job(settings)
    local_path("results_dir", str(job.results_dir))
    finished = job.run()
    assert finished is not None  # only processes of a launch that are not its main one return nothing
    return scan_records(finished.path.parent, Result)[0][finished.path]


def report(results_dir: Path | str = "results", *settings: str) -> Path:
    """Write the leaderboards of all results to `results_dir`; return the path of the page."""
    folder = local_path("results_dir", str(results_dir))
    _job([f"results_dir={results_dir}", "task=report", *settings]).run()
    return folder / "report.html"


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


def get_filter(name: str, *settings: str) -> Filter:
    """Return the filter that ``filter=name`` means, for example ``get_filter("clip", "models=demo")``."""
    with user_errors():
        return _job([f"filter={name}", *settings]).filter


def get_bounds(name: str, *settings: str) -> Bounds:
    """Return which scores of ``filter=name`` pass, for `select`: ``get_bounds("informativeness")`` is 20 to 120."""
    with user_errors():
        return _job([f"filter={name}", *settings]).bounds


def get_metric(name: str, *settings: str) -> CaptionMetric:
    """Return the caption metric that ``metrics=[name]`` means, for example ``get_metric("cider")``."""
    with user_errors():
        return _job([f"metrics=[{name}]", *settings]).metrics[0]


def get_model(name: str, *settings: str) -> Downstream:
    """Return the untrained model that ``downstream=name`` means: ``get_model("captioner", "models=demo")``."""
    with user_errors():
        models = _job([f"downstream={name}", *settings]).models
    if len(models) > 1:
        raise UserError(f"downstream={name} is {len(models)} models; name one of {', '.join(models)}")
    return next(iter(models.values()))


def score(pool: Pool | str | Path, scorer: Filter, device: str = "auto", workers: int = 1) -> ScoreTable:
    """Score every pair of a pool, or read what an earlier call or command scored.

    Args:
        pool: a folder or fsspec URL in the layout of img2dataset or DataComp, or a `Pool`.
        scorer: the filter.
        device: ``auto``, ``cpu``, ``cuda`` (all GPUs) or ``cuda:N``.
        workers: number of processes. With several, a script must call this below ``if __name__ == "__main__":``, and
            the filter's class must be importable.

    Returns:
        `uids` (n,), sorted, with their `scores` (n,), NaN for pairs that cannot be scored; `drops` counts the pairs
        that could not be read, by reason.
    """
    return score_pool(_opened(pool), scorer, LocalEngine(device, workers))


def select(
    table: ScoreTable, k: int, path: Path | str | None = None, seed: int = 0, bounds: Bounds = NO_BOUNDS
) -> Selection:
    """Select exactly k pairs: the highest scores within the `bounds`, or k random pairs if these decide.

    Args:
        table: the scores.
        k: number of pairs.
        path: where their uids are written, as DataComp's subset file: a ``.npy`` of sorted ``u8,u8``.
        seed: decides which of equal scores are selected.
        bounds: the scores that pass, see `get_bounds`; by default all.
    """
    selection = select_within(bounds, table, lambda within: select_top_k(within, k, seed))
    if path is not None:
        write_subset(Path(path), selection.uids)
    return selection


def train(pool: Pool | str | Path, selection: Selection, model: Downstream, device: str = "auto") -> Path:
    """Train a model on selected pairs for its budget, or load it if the same training has been finished before.

    Args:
        pool: as for `score`.
        selection: the selected pairs, which the pool holds with their images.
        model: the untrained model; afterwards it can be evaluated.
        device: as for `score`.

    Returns:
        The folder of the training; the weights are in its folder ``model``.
    """
    opened, resolved = _opened(pool), resolve_device(device)
    index_tars(opened, LocalEngine(device))
    subset = open_subset(opened, selection)
    return train_model(model, subset, selection.sha256, resolved, NoTracker(), []).folder


def evaluate(
    model: Downstream | Published | Path | str,
    sets: Sequence[EvaluationSet | ClassificationSet],
    metrics: Sequence[CaptionMetric],
    folder: Path | str,
    device: str = "auto",
) -> dict[str, list[Metric]]:
    """Evaluate a model, or captions, on every evaluation set that fits.

    Args:
        model: a trained `Downstream`, a `Published` model, or a file of captions as COCO's results have them,
            ``[{"image_id", "caption"}]``.
        sets: the evaluation sets.
        metrics: the caption metrics; those of retrieval and classification are always the same.
        folder: where the captions and the scores of each image are written.
        device: where the model runs.

    Returns:
        The metrics by the name of their evaluation set. One that cannot be computed has a reason in place of a value.
    """
    resolved = resolve_device(device)
    candidate = PublishedCaptions(str(model)) if isinstance(model, Path | str) else model
    if isinstance(candidate, Published):
        candidate.load(resolved)
    return candidate.evaluate(sets, metrics, Path(folder), resolved)


def _opened(pool: Pool | str | Path) -> Pool:
    return pool if isinstance(pool, Pool) else Pool(Path(pool).name, str(pool))


def _job(settings: Sequence[str]) -> Job:
    """Return the job that these settings describe."""
    register_resolvers()
    with user_errors():
        jobs = compose_jobs([name_own_parts(normalised(settings))])
        if len(jobs) > 1:
            raise UserError(f"{' '.join(settings)} must give each setting one value; call once for each")
        return job_of(jobs[0].composed)
