"""Findings over several leaderboards: claims of the ICC paper, and the agreement of rankings."""

import math
import statistics
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import combinations

import numpy as np

from benchmark.results.protocol import size_text
from benchmark.results.report.certainty import Compared, RunFolders, certainty_notes, compare_entries
from benchmark.results.report.frame import Measure, headlines
from benchmark.results.report.leaderboard import Entry, by_setting, group
from benchmark.results.report.table import MISSING, Cell, Table, plain
from benchmark.results.result import Result
from pairsift.studies.published_figures import ICC, paper_figure, published_tables

CIDER = Measure("captioner", "coco", "CIDEr", "CIDEr")
RECALL = Measure("dual_encoder", "coco", "text_to_image_R@1", "R@1")
MIDDLE = 200_000
CLAIM_NOTES = (
    "Each cell lists the filters in the order of the finding. The paper's figures are single runs.",
    "Agrees: yes or no if one is better than the other here, else not shown. Training noise unknown: at a size of"
    " the claim no comparable filter has two seeds.",
)
SEVERAL = 3  # seeds that a filter must have to be in the rankings of "3 seeds"
FEWEST = 4  # filters that two rankings must share
PAPER_TABLES = {"1": CIDER, "2": RECALL}  # tables of the ICC paper that the pool's rankings are compared with
RANKING_NOTE = (
    "Kendall's tau-b of two rankings of the same filters by their means: 1 for the same order, -1 for the reverse,"
    f" {MISSING} where all means of one ranking are equal. The oracle is left out."
)
Means = dict[str, float]  # of each filter


@dataclass(frozen=True)
class Finding:
    """A claim of the paper: the measure of filter `better` is above the measure of filter `worse`."""

    claim: str
    source: str  # the table of the ICC paper with both figures
    measure: Measure
    better: str
    worse: str
    sizes: tuple[int, int] = (MIDDLE, MIDDLE)  # at which the filters select

    @property
    def sides(self) -> list[tuple[str, int]]:
        """Both filters with their sizes."""
        return list(zip((self.better, self.worse), self.sizes, strict=True))

    def paper_figures(self) -> list[float]:
        """Return the paper's two figures."""
        return [paper_figure(ICC, self.source, name, size, self.measure) for name, size in self.sides]


FINDINGS = (
    Finding("ICC is far above random", "1", CIDER, "icc", "random"),
    Finding("Random is above CLIP", "1", CIDER, "random", "clip"),
    Finding("T-MARS is above random", "1", CIDER, "tmars", "random"),
    Finding("Random is above Complexity-Action", "1", CIDER, "random", "complexity_action"),
    Finding("PACScore is above random", "1", CIDER, "pacscore", "random"),
    Finding("ICC is above the best of the others", "1", CIDER, "icc", "pacscore"),
    Finding("VBA is above SBA", "5", CIDER, "vba", "sba"),
    Finding("ICC is a little above VBA", "5", CIDER, "icc", "vba"),
    Finding("ICC's best 100k are above its best 500k", "1", CIDER, "icc", "icc", (100_000, 500_000)),
    Finding("100k random pairs are above 500k", "1", CIDER, "random", "random", (100_000, 500_000)),
    Finding("ICC retrieves better than random, the best of the others", "2", RECALL, "icc", "random"),
    Finding("ICC retrieves better than PACScore", "2", RECALL, "icc", "pacscore"),
    Finding("Random retrieves better than T-MARS", "2", RECALL, "random", "tmars"),
)


def findings_tables(results: Iterable[Result], folders: RunFolders) -> list[Table]:
    """Return for each setting the findings whose two selections were both run in it, sizes aside."""
    tables = []
    for pool, runs in _named_settings(results):
        entries, rows, used = group(runs), [], list[Compared]()
        for finding in FINDINGS:
            # A claim at one size is corrected for the pairs of its leaderboard, as the leaderboard is.
            of_sizes = [entry for entry in entries if entry.size in finding.sizes]
            compared = compare_entries(finding.measure, of_sizes, folders)
            if row := _claim_row(finding, compared):
                rows.append(row)
                used.append(compared)
        header = ["the paper's finding", "metric", "its figures", "this pool's", "agrees", "source"]
        notes = [*CLAIM_NOTES, *certainty_notes(used)]
        tables.append(
            Table(f"Findings of the ICC paper, pool {pool}", header, rows, list(dict.fromkeys(notes)))
        )
    return [table for table in tables if table.rows]


def _named_settings(results: Iterable[Result]) -> list[tuple[str, list[Result]]]:
    """Return the runs of each setting, with its pool, and its hash if there are several settings."""
    settings = by_setting(results)
    several = len(settings) > 1
    return [(runs[0].pool + f" [{runs[0].protocol.setting}]" * several, runs) for runs in settings]


def _claim_row(finding: Finding, compared: Compared) -> list[Cell]:
    """Return the finding's row; nothing unless both sides have the metric."""
    better, worse = (compared.index(name, size) for name, size in finding.sides)
    if better is None or worse is None:
        return []
    comparison = compared.comparison
    agrees = "training noise unknown"
    if not math.isnan(comparison.p_values[better, worse]):
        agrees = comparison.verdict(better, worse).replace("better", "yes").replace("worse", "no")
    named = [name if size == MIDDLE else f"{name} {size_text(size)}" for name, size in finding.sides]
    paper = ", ".join(f"{n} {figure:.1f}" for n, figure in zip(named, finding.paper_figures(), strict=True))
    noise = " " + compared.noises[0] if len(compared.noises) == 1 else ""
    ours = ", ".join(
        (compared.cell(compared.entries[index]).whole + noise).strip() for index in (better, worse)
    )
    metric = f"{finding.measure.label}, COCO"
    return plain(finding.claim, metric, paper, ours, agrees, f"Table {finding.source}")


def rank_agreement_tables(results: Iterable[Result]) -> list[Table]:
    """Return a table per setting, with a row for every two rankings that share at least four filters."""
    tables = []
    for pool, runs in _named_settings(results):
        entries = [entry for entry in group(runs) if entry.competes]
        measures = headlines(entries)
        rows = [
            row for measure in measures for row in _agreements(measure.label, _rankings(measure, entries))
        ]
        for number, measure in PAPER_TABLES.items():
            rows += _agreements(measure.label, _with_paper(number, measure, entries))
        for one, other in combinations(measures, 2):
            rows += _agreements(f"{one.label} and {other.label}", _models(one, other, entries))
        header = ["rankings", "metric", "filters", "tau"]
        tables.append(Table(f"Agreement of rankings, pool {pool}", header, rows, [RANKING_NOTE]))
    return [table for table in tables if table.rows]


def _agreements(metric: str, rankings: Iterable[tuple[str, Means, Means]]) -> Iterator[list[Cell]]:
    for names, one, other in rankings:
        shared = sorted(one.keys() & other.keys())
        if len(shared) >= FEWEST:
            tau = kendall_tau([one[label] for label in shared], [other[label] for label in shared])
            text = MISSING if math.isnan(tau) else f"{tau:.2f}"
            yield plain(names, metric, str(len(shared)), text)


def kendall_tau(one: Sequence[float], other: Sequence[float]) -> float:
    """Return tau-b of two rankings of the same n items, which corrects for ties; NaN if either is all ties."""
    first, second = (np.sign(np.subtract.outer(values, values)) for values in (one, other))
    untied = [np.count_nonzero(signs) for signs in (first, second)]
    if not all(untied):
        return math.nan
    return float(np.sum(first * second) / math.sqrt(untied[0]) / math.sqrt(untied[1]))


def _rankings(measure: Measure, entries: Sequence[Entry]) -> Iterator[tuple[str, Means, Means]]:
    """Yield two rankings with a name: of two sizes, then at each size of two seeds and of two evaluation sets."""
    name = measure.evaluation
    models = [r.downstream[measure.model] for e in entries for r in e.runs if measure.model in r.downstream]
    sets = sorted({evaluation for model in models for evaluation in model.evaluations} - {name})
    by_size = {size: [e for e in entries if e.size == size] for size in sorted({e.size for e in entries})}
    for (size, one), (larger, other) in combinations(by_size.items(), 2):
        sizes = f"{name}: {size_text(size)} and {size_text(larger)}"
        yield sizes, _means(measure, one), _means(measure, other)
    for size, of_size in by_size.items():
        seeds = sorted({run.seed for entry in of_size for run in entry.runs})
        of_seed = {seed: _means(measure, of_size, seed) for seed in seeds}
        for seed, another in combinations(seeds, 2):
            yield f"{name}, {size_text(size)}: seeds {seed} and {another}", of_seed[seed], of_seed[another]
        for other_set in sets:
            means = _means(replace(measure, evaluation=other_set), of_size)
            yield f"{size_text(size)}: {name} and {other_set}", _means(measure, of_size), means


def _models(one: Measure, other: Measure, entries: Sequence[Entry]) -> Iterator[tuple[str, Means, Means]]:
    """Yield at each size the rankings by two metrics: of all filters, and of the filters with several seeds."""
    sets = " and ".join(dict.fromkeys((one.evaluation, other.evaluation)))
    for size in sorted({entry.size for entry in entries}):
        every = [entry for entry in entries if entry.size == size]
        several = [entry for entry in every if len(entry.runs) >= SEVERAL]
        for of_size, which in ((every, ""), (several, f", {SEVERAL} seeds")):
            if len(of_size) < len(every) or not which:
                yield f"{sets}, {size_text(size)}{which}", _means(one, of_size), _means(other, of_size)


def _with_paper(
    number: str, measure: Measure, entries: Sequence[Entry]
) -> Iterator[tuple[str, Means, Means]]:
    """Yield at each size the ranking here and that of a table of the paper."""
    (table,) = (table for table in published_tables() if (table.paper, table.number) == (ICC, number))
    for size in sorted({row.size for row in table.rows}):
        printed = {row.filter: float(row.figures[measure]) for row in table.rows if row.size == size}
        ours = _means(measure, [entry for entry in entries if entry.size == size])
        yield f"{size_text(size)}: {measure.evaluation} and the ICC paper's Table {number}", ours, printed


def _means(measure: Measure, entries: Iterable[Entry], seed: int | None = None) -> Means:
    """Return the mean of each entry over its runs, or over the runs of one seed."""
    if seed is not None:
        entries = [replace(e, runs=[run for run in e.runs if run.seed == seed]) for e in entries]
    return {entry.label: statistics.fmean(values) for entry in entries if (values := measure.values(entry))}
