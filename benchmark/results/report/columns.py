"""The columns of tables: metrics by the names that papers give them, their units and notes, and a choice of them."""

import statistics
from collections.abc import Collection, Iterable, Sequence
from dataclasses import replace

from benchmark.core.errors import UserError, did_you_mean
from benchmark.results.report.significance import t_interval
from benchmark.results.report.table import MISSING, Cell
from benchmark.results.result import Evaluation, Result
from downstream.metrics.metric import Metric

# The columns of the ICC paper's tables, in its order, with its abbreviations; then the columns of later papers.
CAPTION_COLUMNS = {
    "BLEU-4": "B@4", "METEOR": "M", "ROUGE_L": "R", "CIDEr": "C", "SPICE": "S", "BERTScore": "BSc", "Polos": "P",
    "PAC-S": "PAC", "RefPAC-S": "RefPAC",
}  # fmt: skip
DIVERSITY_COLUMNS = {"SPICE-1": "S-1", "Diversity": "Div"} | {f"Unique-{n}": f"U-{n}" for n in (1, 2, 4)}
RETRIEVAL_COLUMNS = {
    "text_to_image_R@1": "T2I R@1", "text_to_image_R@5": "R@5", "text_to_image_R@10": "R@10",
    "image_to_text_R@1": "I2T R@1",
}  # fmt: skip
CLASSIFICATION_COLUMNS = {"zero_shot": "zero-shot", "zero_shot_acc@5": "acc@5", "linear_probe": "probe"}
# Columns of a table by the end of its title; AVA-Captions' metrics have a separate table.
COLUMNS = {
    "": CAPTION_COLUMNS | RETRIEVAL_COLUMNS | CLASSIFICATION_COLUMNS,
    ", best reference and diversity": DIVERSITY_COLUMNS,
}
# Factor and decimals; all other metrics are percentages with one decimal.
UNITS = dict.fromkeys(("BERTScore", "Polos", "PAC-S", "RefPAC-S"), (1.0, 3))
UNITS |= dict.fromkeys(("Unique-1", "Unique-2", "Unique-4"), (1.0, 1))
TIED = {"text_to_image_tied": "T2I", "image_to_text_tied": "I2T", "zero_shot_tied": "zero-shot"}
# The names of the columns by metric.
SHORT = {name: short for columns in COLUMNS.values() for name, short in columns.items()}
Evaluations = dict[str, list[Metric]]  # metrics by evaluation set


def choose_metrics(
    names: Sequence[str], results: Iterable[Result], evaluations: Iterable[Evaluation]
) -> set[str]:
    """Return the metrics with these names, or the names of their columns, in upper or lower case.

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
    """Return the result with only the chosen metrics."""
    models = {
        name: replace(trained, evaluations=evaluations_of(trained.evaluations, chosen))
        for name, trained in result.downstream.items()
    }
    return replace(result, downstream=models)


def evaluations_of(evaluations: Evaluations, chosen: Collection[str]) -> Evaluations:
    """Return the chosen metrics by evaluation set, with the fractions of ties that notes on them need."""
    tied = {name for name in TIED if any(m.startswith(name.removesuffix("_tied")) for m in chosen)}
    kept = {
        name: [m for m in metrics if m.name in tied.union(chosen)] for name, metrics in evaluations.items()
    }
    return {name: metrics for name, metrics in kept.items() if metrics}


def ties_notes(metrics: Iterable[Metric]) -> list[str]:
    """Return how ties count, and by how much another rule could change these metrics; nothing for other metrics."""
    tied: dict[str, float] = {}
    for metric in metrics:
        if metric.name in TIED and metric.value is not None:
            tied[metric.name] = max(metric.value, tied.get(metric.name, 0.0))
    if not tied:
        return []
    most = ", ".join(f"{TIED[name]} {100 * value:.1f}" for name, value in tied.items())
    return [
        "Ties count against the model. By CLIP_benchmark's rule, figures would be higher by at most the share of"
        f" queries with a tie, in points: {most}."
    ]


def metric_cell(name: str, values: Sequence[float], *, bold: bool = False) -> Cell:
    """Return the mean of a metric's runs in the unit of tables, with half of its t-interval over seeds."""
    if not values:
        return Cell(MISSING)
    factor, digits = UNITS.get(name, (100.0, 1))
    mean = statistics.fmean(values)
    text = f"{mean * factor:.{digits}f}"
    if interval := t_interval(values):
        text += f" ± {(interval[1] - interval[0]) / 2 * factor:.{digits}f}"
    return Cell(text, bold)


def thousands(size: int) -> str:
    """Return a size as tables show it: 200k."""
    return f"{size // 1000}k" if size % 1000 == 0 else f"{size:,}"
