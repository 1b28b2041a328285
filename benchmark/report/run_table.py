"""The table that a run ends with: headline metrics by model and evaluation set, above those of random selection."""

from collections.abc import Iterable, Sequence

from benchmark.report.leaderboard_figures import REFERENCE
from benchmark.report.leaderboard_tables import metric_cell
from benchmark.report.table import Cell, Table, plain
from benchmark.results.result import Result
from downstream.metrics.metric import Metric

HEADLINE_COLUMNS = {
    "CIDEr": "CIDEr",
    "METEOR": "METEOR",
    "BERTScore": "BERTScore",
    "text_to_image_R@1": "T2I R@1",
    "image_to_text_R@1": "I2T R@1",
    "zero_shot": "zero-shot",
}


def run_table(result: Result, others: Iterable[Result]) -> Table:
    """Return a row per model and evaluation set, each above that of random selection where `others` have such a run.

    Only runs of the same protocol are shown beside it. What is missing is said once, below the table.
    """
    comparable = [o for o in others if o.protocol.fingerprint == result.protocol.fingerprint]
    references = [o for o in comparable if o.filter == REFERENCE and o.run_id != result.run_id]
    evaluated = [(model, name) for model, t in result.downstream.items() for name in t.evaluations]
    present = {metric.name for pair in evaluated for metric in _metrics(result, *pair)}
    columns = {name: short for name, short in HEADLINE_COLUMNS.items() if name in present}
    rows = []
    for model, name in evaluated:
        for label, runs in ((result.filter, [result]), (REFERENCE, references)):
            metrics = [metric for run in runs for metric in _metrics(run, model, name)]
            if metrics:
                rows.append([*plain(label, model, name), *(_cell(metrics, column) for column in columns)])
    header = ["filter", "model", "evaluation set", *columns.values()]
    return Table(result.protocol.name, header, rows, _missing(result))


def _metrics(result: Result, model: str, evaluation: str) -> list[Metric]:
    trained = result.downstream.get(model)
    return trained.evaluations.get(evaluation, []) if trained else []


def _cell(metrics: Sequence[Metric], name: str) -> Cell:
    """Return the metric's mean over runs; nothing where the evaluation set has no such metric."""
    named = [metric for metric in metrics if metric.name == name]
    return metric_cell(name, [m.value for m in named if m.value is not None], None) if named else Cell("")


def _missing(result: Result) -> list[str]:
    """Return a line per reason for which metrics are missing."""
    names: dict[str, dict[str, None]] = {}
    for trained in result.downstream.values():
        for metric in (metric for metrics in trained.evaluations.values() for metric in metrics):
            if metric.reason is not None:
                names.setdefault(metric.reason, {})[metric.name] = None
    return [f"{', '.join(of_reason)} missing: {reason}" for reason, of_reason in names.items()]
