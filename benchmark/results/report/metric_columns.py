"""The metrics that ``task.columns=`` names, and results cut down to them."""

from collections.abc import Collection, Iterable, Sequence
from dataclasses import replace

from benchmark.core.errors import UserError, did_you_mean
from benchmark.results.evaluation import Evaluation
from benchmark.results.report.leaderboard_tables import COLUMNS, TIED
from benchmark.results.result import Result
from downstream.metrics.metric import Metric

Evaluations = dict[str, list[Metric]]  # metrics by evaluation set
# The names of the columns by metric.
SHORT = {name: short for columns in COLUMNS.values() for name, short in columns.items()}


def choose_metrics(
    names: Sequence[str], results: Iterable[Result], evaluations: Iterable[Evaluation]
) -> set[str]:
    """Return the metrics with these names, their own or those of their columns, in upper or lower case.

    Raises:
        UserError: for a name of no column that the results have.
    """
    parts = [trained.evaluations for result in results for trained in result.downstream.values()]
    parts += [evaluation.evaluations for evaluation in evaluations]
    held = {metric.name for part in parts for metrics in part.values() for metric in metrics}
    columns = [text for name, short in SHORT.items() if name in held for text in (name, short)]
    known = {text.casefold(): name for name, short in SHORT.items() for text in (name, short) if name in held}
    for name in names:
        if name.casefold() not in known:
            raise UserError(
                f"task.columns={name} is no column of these results; {did_you_mean(name, {*columns})}"
            )
    return {known[name.casefold()] for name in names}


def only_metrics(result: Result, chosen: Collection[str]) -> Result:
    """Return the result with the chosen metrics alone."""
    models = {
        name: replace(trained, evaluations=evaluations_of(trained.evaluations, chosen))
        for name, trained in result.downstream.items()
    }
    return replace(result, downstream=models)


def evaluations_of(evaluations: Evaluations, chosen: Collection[str]) -> Evaluations:
    """Return the chosen metrics by evaluation set, with the shares of ties that notes on them need."""
    tied = {name for name in TIED if any(m.startswith(name.removesuffix("_tied")) for m in chosen)}
    kept = {
        name: [m for m in metrics if m.name in tied.union(chosen)] for name, metrics in evaluations.items()
    }
    return {name: metrics for name, metrics in kept.items() if metrics}
