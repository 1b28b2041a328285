"""Which filter and how many pairs at a larger budget, from runs at smaller budgets: ranks, no fitted laws."""

import math
import shlex
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations
from statistics import fmean, median
from typing import ClassVar

import numpy as np

from benchmark.core.errors import UserError, did_you_mean
from benchmark.core.hashes import hash_json
from benchmark.core.records import Schema
from benchmark.results.protocol import key_of, size_text
from benchmark.results.report.certainty import Compared, RunFolders, compare_entries
from benchmark.results.report.frame import HEADLINES, Measure, frame
from benchmark.results.report.leaderboard import REFERENCE, Entry, caveat, group
from benchmark.results.report.posterior import Posterior, posterior
from benchmark.results.result import Result

# P(best) of the choice. Below OPEN the choice is not called the best; below CLEAR the advice names further runs. With
# two equal best filters it is below CLEAR in 86 of 100 simulated worlds (test_posterior.py).
OPEN, CLEAR = 0.5, 0.9
NEXT_RUNS = 3
LEAST = 0.01  # of the expected regret: runs that would reduce it by less are not named


@dataclass(frozen=True)
class AdvisedSize:
    """A filter at one size at the measured budget. Numbers of pairs and of samples are as users type them."""

    filter: str
    size: int
    budget: int
    epochs: float
    value: float
    interval: tuple[float, float] | None
    p_best: float


@dataclass(frozen=True)
class AdvisedFilter:
    """A filter with its best measured size carried over to the larger budget."""

    best: AdvisedSize
    budget: int  # the budget asked for, or what scoring leaves of the hours
    p_best: float  # the sum over its sizes
    ranks: tuple[int, int]  # among the filters
    equal_epochs_size: int  # the size that is seen as often as the best size at the measured budget


@dataclass(frozen=True)
class NextRun:
    """One more run, its minutes, and by how much it reduces the expected regret."""

    command: str
    minutes: float
    reduction: float


@dataclass(frozen=True)
class Advice:
    """The answer for one larger budget."""

    SCHEMA: ClassVar[Schema] = Schema("advice", 2, "advice", "python -m benchmark task=advise ...")

    run_id: str
    question: str
    measure: Measure
    runs: int
    filters: list[AdvisedFilter]  # the most probable best first
    sizes: list[AdvisedSize]  # likewise
    choice: AdvisedSize
    regret: float  # expected regret of the choice
    unfiltered: AdvisedSize  # the best size of random and no_filter
    gain: tuple[float, float, float]  # of the choice above `unfiltered`: expected, and 95% interval
    next_runs: list[NextRun]  # empty if the question is settled, or no run would help
    notes: list[str]


def find_measure(results: Sequence[Result], name: str) -> Measure:
    """Return the measure that a metric's name, or ``evaluation set/metric``, means: on COCO if possible."""
    rows, ending = [row for row in frame(results) if row.metric.value is not None], f"/{name}".casefold()
    named = [row for row in rows if f"/{row.name}".casefold().endswith(ending)]
    if not named:
        names = {row.metric.name for row in rows if not row.metric.detail}
        raise UserError(f"the metric {name} is not in these results; {did_you_mean(name, names)}")
    row = min(named, key=lambda row: (row.evaluation != "coco", row.evaluation, row.model))
    return Measure.of(row, HEADLINES.get(row.metric.name, row.metric.name.replace("_", " ")))


def advise(
    results: Sequence[Result], folders: RunFolders, measure: Measure, budget: int | None, hours: float | None
) -> Advice:
    """Return the advice for a budget in samples, or for hours of scoring and training.

    Raises `UserError` unless the results are of one family, with `random`, at two or more smaller budgets.
    """
    first, *others = {run.protocol.family: run.protocol for run in results}.values()
    if others:
        raise UserError(
            "task=advise needs results that differ only in filter, size, budget and seed; these also differ in"
            f" {others[0].of_family.differences(first.of_family)}; move the others to another folder"
        )
    by_budget = defaultdict[int, dict[str, list[Entry]]](lambda: defaultdict(list))
    for entry in group([run for run in results if measure.values(run)]):
        if entry.competes:
            by_budget[entry.runs[0].budget(measure.model)][entry.label].append(entry)
    budgets, typed = sorted(by_budget), ", ".join(map(size_text, sorted(by_budget)))
    if len(budgets) < 2:
        raise UserError(f"task=advise needs results at two budgets or more; these have only budget={typed}")
    labels = dict.fromkeys(label for entries in by_budget.values() for label in entries)
    if budget:
        targets, asked, reach = dict.fromkeys(labels, budget), f"budget={size_text(budget)}", ""
    else:
        targets, asked = _targets(by_budget, measure, hours or 0.0), f"task.hours={hours:g}"
        reach = f" (it is enough for {size_text(max(targets.values()))} samples)"
    if max(targets.values()) <= budgets[-1]:
        raise UserError(f"{asked} must be above the measured budgets, {typed}{reach}; task=report has those")
    entries, notes = list[Entry](), list[str]()
    for label, target in targets.items():
        nearest = min(budgets, key=lambda measured: abs(math.log(measured / max(target, 1))))
        of_label = by_budget[nearest].get(label, []) if target >= budgets[0] else []
        entries += of_label
        if target < budgets[0]:
            notes.append(f"Left out: {label}, as its scoring leaves too little of the hours.")
        elif not of_label:
            notes.append(f"Left out: {label}, which was not run at {size_text(nearest)}.")
    compared = compare_entries(measure, entries, folders)
    known = _known(compared, notes)
    small, large = budgets[-2:]
    notes.append(_note_on_order(by_budget[small], by_budget[large], large / small, measure))
    asked += f" ({look}, not a finding)" if (look := caveat(results[0])) else ""
    return _advice(asked, compared, known, targets, notes)


def draw_values(
    results: Sequence[Result], folders: RunFolders, measure: Measure
) -> tuple[list[Entry], Posterior]:
    """Return the entries of one budget that compete and have known noise, and the posterior of their true values.

    Raises `UserError` if the noise of all is unknown.
    """
    compared = compare_entries(measure, [entry for entry in group(results) if entry.competes], folders)
    known = _known(compared, [])
    entries = [compared.entries[index] for index in known]
    return entries, posterior(compared.comparison, known, [entry.label for entry in entries])


def _targets(by_budget: dict[int, dict[str, list[Entry]]], measure: Measure, hours: float) -> dict[str, int]:
    """Return the samples that the model can see by filter, if both are trained and scored in some hours."""
    runs = defaultdict[str, list[Result]](list)
    for entries in by_budget.values():
        for label, of_label in entries.items():
            own = of_label[0].runs[0].filter  # its row may have runs of other filters with the same selection
            runs[label] += [run for entry in of_label for run in entry.all_runs if run.filter == own]
    trainings = [run.downstream[measure.model].training for of_label in runs.values() for run in of_label]
    seconds = median(training.seconds / training.samples_seen for training in trainings) or math.inf
    targets = {}
    for label, of_filter in runs.items():
        workers = of_filter[0].config.get("engine", {}).get("workers")
        left = 3600 * hours - max(run.scoring_seconds(workers) for run in of_filter)
        targets[label] = int(float(f"{max(left / seconds, 0) * of_filter[0].scale:.3g}"))
    return targets


def _known(compared: Compared, notes: list[str]) -> list[int]:
    """Return the entries with known noises, and add a note on the others. Raises `UserError` if there are none."""
    comparison, entries, metric = compared.comparison, compared.entries, compared.measure.metric
    if not np.isfinite(comparison.training.variance).any():
        raise UserError("P(best) needs the noise of training; run some filters with seed=0,1")
    noise = np.diag(comparison.covariance) + comparison.training.variance
    known = [index for index in range(len(entries)) if np.isfinite(noise[index])]
    unknown = [f"{e.label} {size_text(e.size)}" for index, e in enumerate(entries) if index not in known]
    if not known:
        raise UserError(
            f"the metric {metric} has no scores of single images in these results, so its noise is unknown; choose"
            " another metric, or keep the folders of the runs next to their records"
        )
    if unknown:
        notes.append(f"Left out, as their noise is unknown: {', '.join(unknown)}.")
    return known


def _note_on_order(
    small: dict[str, list[Entry]], large: dict[str, list[Entry]], growth: float, measure: Measure
) -> str:
    """Return how the order of filters and their best sizes carried over to a budget that is larger by `growth`."""
    labels = [label for label in small if label in large]
    one, other = (
        [max((measure.signed(fmean(measure.values(e))), e.size) for e in of[label]) for label in labels]
        for of in (small, large)
    )
    pairs = zip(combinations(one, 2), combinations(other, 2), strict=True)
    same = [(a > b) == (c > d) for (a, b), (c, d) in pairs]
    grown = [
        size / before
        for label, (_, before), (_, size) in zip(labels, one, other, strict=True)
        if min(len(small[label]), len(large[label])) > 1
    ]
    stayed, epochs = (sum(abs(math.log(of / factor)) < 0.1 for of in grown) for factor in (1, growth))
    return (
        f"Between the two largest budgets, {sum(same)} of {len(same)} pairs of filters, each at its best size, kept"
        f" their order; of {len(grown)} best sizes {stayed} stayed, and {epochs} kept their epochs."
    )


def _advice(
    asked: str, compared: Compared, known: Sequence[int], targets: dict[str, int], notes: list[str]
) -> Advice:
    measure, entries = compared.measure, [compared.entries[index] for index in known]
    of_random = [number for number, entry in enumerate(entries) if entry.unfiltered]
    if not of_random:
        raise UserError(f"the gain needs results of filter={REFERENCE} at the same budgets; run it, too")
    drawn = posterior(compared.comparison, known, [entry.label for entry in entries])
    expected, draws, sizes = drawn.draws.mean(axis=0), drawn.draws, list[AdvisedSize]()
    for index, entry, of_size in zip(known, entries, drawn.best.tolist(), strict=True):
        estimate, budget = compared.comparison.estimates[index], entry.runs[0].budget(measure.model)
        place = entry.label, entry.size, budget, budget / entry.size
        sizes.append(AdvisedSize(*place, estimate.mean, estimate.interval, of_size))
    of_label = defaultdict[str, list[int]](list)
    for number, entry in enumerate(entries):
        of_label[entry.label].append(number)
    values = np.stack([draws[:, numbers].max(axis=1) for numbers in of_label.values()], axis=1)
    ranks = 1 + (-values).argsort(axis=1).argsort(axis=1)
    low, high = np.quantile(ranks, (0.025, 0.975), axis=0, method="nearest").tolist()
    filters, at_ends, p_best = list[AdvisedFilter](), list[str](), drawn.best_filters
    for (label, numbers), *of_ranks in zip(of_label.items(), low, high, strict=True):
        best = sizes[max(numbers, key=lambda number: expected[number])]
        run, factor = entries[numbers[0]].runs[0], targets[label] / best.budget
        largest = max(best.size, run.selection.scored * run.scale)
        ends = int(of_ranks[0]), int(of_ranks[1])
        carried = min(int(float(f"{best.size * factor:.3g}")), largest)
        filters.append(AdvisedFilter(best, targets[label], p_best[label], ends, carried))
        measured = [sizes[number].size for number in numbers]
        if len(measured) > 1 and (best.size == min(measured) or max(measured) == best.size < largest):
            at_ends.append(label)
    if at_ends:
        notes.append(
            f"Best at the smallest or largest measured size, so beyond may be better: {', '.join(at_ends)}."
        )
    choice = int(expected.argmax())
    unfiltered = max(of_random, key=lambda number: expected[number])
    gains = draws[:, choice] - draws[:, unfiltered]
    least, most = np.quantile(gains, (0.025, 0.975)).tolist()
    next_runs = [_next_run(e, of) for e, of in zip(entries, drawn.run_values.tolist(), strict=True)]
    regret = float((draws.max(axis=1) - draws[:, choice]).mean())
    next_runs = [run for run in next_runs if run.reduction > LEAST * regret]
    next_runs.sort(key=lambda run: -run.reduction / max(run.minutes, 1e-3))
    return Advice(
        # The next answer to the question replaces this one.
        run_id=f"advice-{measure.metric.replace('/', '_')}-{hash_json([asked, measure.title], 8)}",
        question=asked,
        measure=measure,
        runs=len({run.run_id for entry in entries for run in entry.all_runs}),
        filters=sorted(filters, key=lambda of: (-of.p_best, of.ranks, -measure.signed(of.best.value))),
        sizes=sorted(sizes, key=lambda of: (-of.p_best, -measure.signed(of.value))),
        choice=sizes[choice],
        regret=regret,
        unfiltered=sizes[unfiltered],
        gain=(float(gains.mean()), least, most),
        next_runs=next_runs[:NEXT_RUNS] if sizes[choice].p_best < CLEAR else [],
        notes=notes,
    )


def _next_run(entry: Entry, reduction: float) -> NextRun:
    """Return the run of an entry with the next seed."""
    run, seed = entry.runs[-1], 1 + max(run.seed for run in entry.all_runs)
    seconds = sum(model.training.seconds for model in run.downstream.values())
    seconds += sum(of.wall_seconds for stage, of in run.stages.items() if stage.startswith("evaluate/"))
    budget = size_text(run.budget(next(iter(run.downstream))))
    typed = [f"filter={run.typed_filter}", f"size={size_text(run.size)}", f"budget={budget}"]
    given = typed if run.overrides is None else [o for o in run.overrides if key_of(o) != "seed"]
    given = [typed[0] if o == f"filter={run.filter}" else o for o in given]
    return NextRun(shlex.join(["python", "-m", "benchmark", *given, f"seed={seed}"]), seconds / 60, reduction)
