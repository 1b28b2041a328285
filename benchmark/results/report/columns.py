"""The columns of tables: the metrics that results hold, how their numbers are shown, and a choice of them."""

import math
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, replace

from benchmark.core.errors import UserError, did_you_mean
from benchmark.results.report.table import MISSING
from benchmark.results.result import Evaluation, Result
from downstream.metrics.metric import Metric

# These only order and abbreviate: other metrics follow by their own names. The columns of the ICC paper's tables, in
# its order, with its abbreviations; then the columns of later papers.
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
TIED = {"text_to_image_tied": "T2I", "image_to_text_tied": "I2T", "zero_shot_tied": "zero-shot"}
# The names of the columns by metric.
SHORT = {name: short for columns in COLUMNS.values() for name, short in columns.items()}
# The known metrics that tables of a few columns have, with their names there.
FEW = {
    "CIDEr": "CIDEr", "METEOR": "METEOR", "BERTScore": "BERTScore", "text_to_image_R@1": "T2I R@1",
    "image_to_text_R@1": "I2T R@1", "zero_shot": "zero-shot",
}  # fmt: skip
Evaluations = dict[str, list[Metric]]  # metrics by evaluation set


@dataclass(frozen=True)
class Unit:
    """How tables show a metric."""

    factor: float  # by which it is multiplied
    decimals: int | None  # None: one, and two digits below 1
    heading: str  # follows the name of its column
    limits: tuple[float, float] = (0.0, math.inf)  # lowest and highest number that can be, times `factor`

    def text(self, number: float) -> str:
        """Return a number, already times `factor`, as text."""
        if self.decimals is None and abs(number) < 1:
            return f"{number:.2g}"
        return f"{number:.{self.decimals or 1}f}"


UNITS = {
    "": Unit(1.0, None, "", (-math.inf, math.inf)),
    "fraction": Unit(100.0, 1, " (%)", (0.0, 100.0)),
    "score": Unit(1.0, 3, "", (-math.inf, math.inf)),
    "n-grams": Unit(1.0, 1, " (n-grams)"),
}


def unit_of(name: str) -> Unit:
    """Return how a unit is shown; the column's name has a unit that is not in `UNITS`."""
    return UNITS.get(name) or Unit(1.0, None, f" ({name})")


def heading(metric: Metric) -> str:
    """Return the name of a metric's column; that of an unknown metric has its unit, and ↓ if lower is better."""
    if metric.name in SHORT:
        return SHORT[metric.name]
    unit = unit_of(metric.unit).heading if metric.name.casefold() != metric.unit else ""  # Words in words
    return metric.name + unit + " ↓" * (not metric.higher_is_better)


def table_columns(metrics: Iterable[Metric]) -> dict[str, dict[str, Metric]]:
    """Return the columns of each table by the end of its title: known metrics first, and no details."""
    given = {metric.name: metric for metric in metrics if not metric.detail}
    unknown = {name: metric for name, metric in given.items() if name not in SHORT}
    columns = {ending: {n: given[n] for n in known if n in given} for ending, known in COLUMNS.items()}
    return {e: of_table for e, known in columns.items() if (of_table := known | ({} if e else unknown))}


def few_columns(sets: Iterable[Iterable[Metric]]) -> dict[str, Metric]:
    """Return the columns of a short table on several evaluation sets: the metrics of `FEW`, then unknown metrics.

    Of a set without any of these, it has the first metric with a value.
    """
    given: dict[str, Metric] = {}
    for metrics in sets:
        usual = [metric for metric in metrics if not metric.detail]
        chosen = [metric for metric in usual if metric.name in FEW or metric.name not in SHORT]
        given |= {m.name: m for m in chosen or [m for m in usual if m.value is not None][:1]}
    return {name: given[name] for name in FEW if name in given} | given


def choose_metrics(
    names: Sequence[str], results: Iterable[Result], evaluations: Iterable[Evaluation]
) -> set[str]:
    """Return the metrics of these names, or column names, in any case. Raises `UserError` for an unknown one."""
    parts = [trained.evaluations for result in results for trained in result.downstream.values()]
    parts += [evaluation.evaluations for evaluation in evaluations]
    held = {metric.name for part in parts for metrics in part.values() for metric in metrics}
    texts = {SHORT[name]: name for name in held if name in SHORT} | {name: name for name in held}
    known = {text.casefold(): name for text, name in texts.items()}
    for name in names:
        if name.casefold() not in known:
            raise UserError(f"task.columns={name} is not in these results; {did_you_mean(name, {*texts})}")
    return {known[name.casefold()] for name in names}


def only_metrics(result: Result, chosen: Collection[str]) -> Result:
    """Return the result with only the chosen metrics."""
    models = {
        name: replace(trained, evaluations=evaluations_of(trained.evaluations, chosen))
        for name, trained in result.downstream.items()
    }
    return replace(result, downstream=models)


def evaluations_of(evaluations: Evaluations, chosen: Collection[str]) -> Evaluations:
    """Return the chosen metrics, of which none is a detail, and the fractions of ties that notes on them need."""
    tied = {name for name in TIED if any(m.startswith(name.removesuffix("_tied")) for m in chosen)}
    kept = {
        name: [replace(m, detail=m.name not in chosen) for m in metrics if m.name in tied.union(chosen)]
        for name, metrics in evaluations.items()
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


def shown(metric: Metric, value: float | None) -> str:
    """Return a value of a metric as tables show it."""
    unit = unit_of(metric.unit)
    return MISSING if value is None else unit.text(unit.factor * value)
