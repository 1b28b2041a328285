"""The frame that every table is made of: its rows, the measures that compare filters, the columns of tables.

A row is one metric of one model of one run on one evaluation set, with value and interval (`Row`). CSV and JSON hold
the rows as they are. Tables, charts and verdicts pivot them: a `Measure` picks the rows of one column, and
`compare_entries` makes an estimate per filter of them, with the scores of single images, once for all views.
"""

import math
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Protocol, Self, TypeVar

from benchmark.core.errors import UserError, did_you_mean
from benchmark.results.result import Evaluation, Result, Row
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
# The metrics that the papers compare filters by, with their names.
HEADLINES = {"CIDEr": "CIDEr", "text_to_image_R@1": "text-to-image R@1 (%)", "zero_shot": "zero-shot (%)"}
UNBOUNDED = {"CIDEr"}  # fractions that may be above 1
R = TypeVar("R", Result, Evaluation)


class HasRows(Protocol):
    """A run, an evaluation, or an entry with the rows of its runs."""

    @property
    def rows(self) -> list[Row]:
        """Its rows of the frame."""


@dataclass(frozen=True)
class Unit:
    """How tables show a metric."""

    factor: float  # multiplies it
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


@dataclass(frozen=True)
class Measure:
    """A metric of a downstream model on an evaluation set; `label` is the metric's name for readers."""

    model: str
    evaluation: str
    metric: str
    label: str = field(default="", compare=False)
    unit: str = field(default="fraction", compare=False)
    higher_is_better: bool = field(default=True, compare=False)

    @classmethod
    def of(cls, row: Row, label: str = "") -> Self:
        """Return the measure that `row` has a value of."""
        metric = row.metric
        label = label or heading(metric)
        return cls(row.model, row.evaluation, metric.name, label, metric.unit, metric.higher_is_better)

    @property
    def title(self) -> str:
        """The title of its chart."""
        return f"{self.model} on {self.evaluation}: {self.label}"

    def values(self, source: HasRows) -> list[float]:
        """Return the metric, as tables show it, of a run, or of each run of an entry that has it."""
        place, factor = (self.model, self.evaluation, self.metric), unit_of(self.unit).factor
        rows = (row.metric for row in source.rows if (row.model, row.evaluation, row.metric.name) == place)
        return [factor * metric.value for metric in rows if metric.value is not None]

    def signed(self, value: float) -> float:
        """Return a value, times -1 if lower is better: the higher the better."""
        return value if self.higher_is_better else -value

    def text(self, value: float) -> str:
        """Return one of `values`, or their mean, as text."""
        return unit_of(self.unit).text(value)

    @property
    def limits(self) -> tuple[float, float]:
        """The lowest and the highest of `values` that can be: only plain numbers and scores may be negative."""
        low, high = unit_of(self.unit).limits
        return low, math.inf if self.metric in UNBOUNDED else high


def frame(sources: Iterable[HasRows]) -> list[Row]:
    """Return the rows of several runs or entries."""
    return [row for source in sources for row in source.rows]


def by_set(sources: Iterable[HasRows]) -> dict[tuple[str, str], list[Row]]:
    """Return the rows by downstream model and evaluation set, in the order of the reports of runs."""
    sets: dict[tuple[str, str], list[Row]] = {}
    for row in frame(sources):
        sets.setdefault((row.model, row.evaluation), []).append(row)
    return sets


def headlines(sources: Iterable[HasRows]) -> list[Measure]:
    """Return each model's metrics of `HEADLINES`, then its unknown metrics, each on COCO if possible.

    Of a model that has none of `HEADLINES`, return its first metric on each evaluation set.
    """
    sets = by_set(sources)
    first: dict[tuple[str, str], Measure] = {}  # by model and evaluation set
    named: dict[tuple[str, str], Measure] = {}  # by metric and model
    for pair in sorted(sets, key=lambda pair: (pair[1] != "coco", pair[1])):
        for row in sets[pair]:
            name = row.metric.name
            if row.metric.value is not None and not row.metric.detail:
                measure = Measure.of(row, HEADLINES.get(name, ""))
                first.setdefault(pair, measure)
                if name in HEADLINES or name not in SHORT:
                    named.setdefault((name, row.model), measure)
    order = [*HEADLINES, *(name for name, _ in named)]
    known = {model for name, model in named if name in HEADLINES}
    chosen = [measure for measure in named.values() if measure.model in known]
    others = [first[pair] for pair in sets if pair in first and pair[0] not in known]
    return sorted(chosen, key=lambda measure: order.index(measure.metric)) + others


def chart_measures(sources: Sequence[HasRows]) -> dict[str, Measure]:
    """Return the metrics that charts offer by their names: columns of the sets with a headline metric."""
    measures, sets = headlines(sources), by_set(sources)
    for pair in dict.fromkeys((m.model, m.evaluation) for m in measures):
        rows = {row.metric.name: row for row in sets[pair]}
        for columns in table_columns(row.metric for row in sets[pair]).values():
            labels = {name: name.replace("_", " ") if name in SHORT else "" for name in columns}
            measures += [Measure.of(rows[name], label) for name, label in labels.items()]
    known = [m for m in dict.fromkeys(measures) if any(m.values(source) for source in sources)]
    return {f"{m.label}, {m.evaluation} ({m.model.replace('_', ' ')})": m for m in known}


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


def choose_metrics(names: Sequence[str], records: Iterable[HasRows]) -> set[str]:
    """Return the metrics of these names, or column names, in any case. Raises `UserError` for an unknown one."""
    held = {row.metric.name for row in frame(records)}
    texts = {SHORT[name]: name for name in held if name in SHORT} | {name: name for name in held}
    known = {text.casefold(): name for text, name in texts.items()}
    for name in names:
        if name.casefold() not in known:
            raise UserError(f"task.columns={name} is not in these results; {did_you_mean(name, {*texts})}")
    return {known[name.casefold()] for name in names}


def only_metrics(record: R, chosen: Collection[str]) -> R:
    """Return the record with the chosen metrics, none of them a detail, and the ties that notes on them need."""
    tied = {name for name in TIED if any(m.startswith(name.removesuffix("_tied")) for m in chosen)}

    def of(evaluations: dict[str, list[Metric]]) -> dict[str, list[Metric]]:
        kept = {
            name: [replace(m, detail=m.name not in chosen) for m in metrics if m.name in tied.union(chosen)]
            for name, metrics in evaluations.items()
        }
        return {name: metrics for name, metrics in kept.items() if metrics}

    if isinstance(record, Evaluation):
        changes: dict[str, Any] = {"evaluations": of(record.evaluations)}
    else:
        models = record.downstream.items()
        changes = {"downstream": {name: replace(t, evaluations=of(t.evaluations)) for name, t in models}}
    return replace(record, **changes)


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
