"""Findings over several leaderboards: claims of the ICC paper, and the agreement of rankings."""

import math
import statistics
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import combinations

import numpy as np

from benchmark.results.report.certainty import Compared, RunFolders, compare_entries, estimate_text
from benchmark.results.report.columns import thousands
from benchmark.results.report.leaderboard import Entry, Measure, by_setting, group, headlines
from benchmark.results.report.published_figures import ICC, paper_figure
from benchmark.results.report.significance import Comparison
from benchmark.results.report.table import MISSING, Cell, Table, plain
from benchmark.results.result import Result

CIDER = Measure("captioner", "coco", "CIDEr", "CIDEr")
RECALL = Measure("dual_encoder", "coco", "text_to_image_R@1", "R@1")
MIDDLE = 200_000
NOTES = (
    "Both figures are in the order of the comparison, the paper's higher one first. The paper's are of single runs.",
    "Agrees: yes or no where the difference here is significant over images and over seeds; (over images) where a"
    " filter has fewer than three seeds, so that nothing is known of others.",
)


@dataclass(frozen=True)
class Selected:
    """What a filter keeps at a size."""

    filter: str
    size: int = MIDDLE


@dataclass(frozen=True)
class Finding:
    """A claim of the paper: the metric of `better` is above that of `worse`.

    Args:
        claim: the claim in words.
        source: table of the ICC paper with both figures.
        metric: the metric.
        better: the filter and size with the higher figure in the paper.
        worse: the other one.
    """

    claim: str
    source: str
    metric: Measure
    better: Selected
    worse: Selected

    def paper_figure(self, selected: Selected) -> float:
        """Return the paper's figure."""
        return paper_figure(ICC, self.source, selected.filter, selected.size, self.metric)


FINDINGS = (
    Finding("ICC is far above random", "1", CIDER, Selected("icc"), Selected("random")),
    Finding("Random is above CLIP", "1", CIDER, Selected("random"), Selected("clip")),
    Finding("T-MARS is above random", "1", CIDER, Selected("tmars"), Selected("random")),
    Finding("Random is above Complexity-Action", "1", CIDER, Selected("random"), Selected("complexity_action")),
    Finding("PACScore is above random", "1", CIDER, Selected("pacscore"), Selected("random")),
    Finding("ICC is above the best of the others", "1", CIDER, Selected("icc"), Selected("pacscore")),
    Finding("VBA is above SBA", "5", CIDER, Selected("vba"), Selected("sba")),
    Finding("ICC is a little above VBA", "5", CIDER, Selected("icc"), Selected("vba")),
    Finding("ICC's best 100k are above its best 500k", "1", CIDER,
            Selected("icc", 100_000), Selected("icc", 500_000)),
    Finding("100k random pairs are above 500k", "1", CIDER,
            Selected("random", 100_000), Selected("random", 500_000)),
    Finding("ICC retrieves better than random", "2", RECALL, Selected("icc"), Selected("random")),
    Finding("Random retrieves better than T-MARS", "2", RECALL, Selected("random"), Selected("tmars")),
)  # fmt: skip


def findings_tables(results: Iterable[Result], folders: RunFolders) -> list[Table]:
    """Return for each setting the findings whose two selections were both run in it, sizes aside."""
    tables = []
    settings = by_setting(results)
    for runs in settings:
        entries, pool = group(runs), runs[0].pool
        if len(settings) > 1:
            pool += f" [{runs[0].protocol.setting}]"
        compared = {metric: compare_entries(metric, entries, folders) for metric in (CIDER, RECALL)}
        rows = [row for finding in FINDINGS for row in _rows(finding, compared[finding.metric])]
        header = ["the paper's finding", "metric", "its figures", "this pool's", "agrees", "source"]
        tables.append(Table(f"Findings of the ICC paper, pool {pool}", header, rows, list(NOTES)))
    return [table for table in tables if table.rows]


def _rows(finding: Finding, compared: Compared) -> list[list[Cell]]:
    """Return the finding's row; none unless both selections have the metric."""
    better, worse = (_index(side, compared.entries) for side in (finding.better, finding.worse))
    if better is None or worse is None:
        return []
    sides = (finding.better, finding.worse)
    paper = ", ".join(f"{_named(side)} {finding.paper_figure(side):.1f}" for side in sides)
    ours = ", ".join(estimate_text(compared.comparison.estimates[index]) for index in (better, worse))
    cells = (f"{finding.metric.label}, COCO", paper, ours, _agrees(compared.comparison, better, worse))
    return [plain(finding.claim, *cells, f"Table {finding.source}")]


def _agrees(comparison: Comparison, better: int, worse: int) -> str:
    sure = "" if comparison.seeds_known[better, worse] else " (over images)"
    if comparison.above(better, worse):
        return "yes" + sure
    return "no" + sure if comparison.above(worse, better) else "not significant"


def _named(selected: Selected) -> str:
    return selected.filter if selected.size == MIDDLE else f"{selected.filter} {thousands(selected.size)}"


def _index(selected: Selected, entries: Sequence[Entry]) -> int | None:
    """Return the entry of the filter at the size; None where there is none, or several that differ in settings."""
    found = [i for i, e in enumerate(entries) if e.label == selected.filter and e.size == selected.size]
    return found[0] if len(found) == 1 else None


METRICS = {"CIDEr": "CIDEr", "text_to_image_R@1": "T2I R@1"}
FEWEST = 4  # filters that two rankings must share
NOTE = (
    "Kendall's tau-b of two rankings of the same filters by their means: 1 for the same order, -1 for the reverse,"
    f" {MISSING} where all means of one ranking are equal. Upper bounds are left out."
)
Means = dict[str, float]  # of each filter


def rank_agreement_tables(results: Iterable[Result]) -> list[Table]:
    """Return a table per setting, with a row for every two rankings that share at least four filters."""
    tables = []
    settings = by_setting(results)
    for runs in settings:
        entries = [entry for entry in group(runs) if not entry.is_upper_bound]
        rows = [
            row
            for h in headlines(entries)
            if h.metric in METRICS
            for row in _agreements(h, entries, _sets(runs, h))
        ]
        pool = runs[0].pool + (f" [{runs[0].protocol.setting}]" if len(settings) > 1 else "")
        header = ["rankings", "metric", "filters", "tau"]
        tables.append(Table(f"Agreement of rankings, pool {pool}", header, rows, [NOTE]))
    return [table for table in tables if table.rows]


def _sets(runs: Iterable[Result], measure: Measure) -> list[str]:
    """Return the other evaluation sets of the measure's model."""
    trained = [run.downstream[measure.model] for run in runs if measure.model in run.downstream]
    return sorted({name for model in trained for name in model.evaluations} - {measure.evaluation})


def _agreements(measure: Measure, entries: Sequence[Entry], sets: Sequence[str]) -> Iterator[list[Cell]]:
    for names, one, other in _pairs(measure, entries, sets):
        shared = sorted(one.keys() & other.keys())
        if len(shared) >= FEWEST:
            tau = kendall_tau([one[label] for label in shared], [other[label] for label in shared])
            text = MISSING if math.isnan(tau) else f"{tau:.2f}"
            yield plain(names, METRICS[measure.metric], str(len(shared)), text)


def kendall_tau(one: Sequence[float], other: Sequence[float]) -> float:
    """Return tau-b of two rankings of the same n items, which corrects for ties; NaN where one is all ties."""
    first, second = (np.sign(np.subtract.outer(values, values)) for values in (one, other))
    untied = [np.count_nonzero(signs) for signs in (first, second)]
    if not all(untied):
        return math.nan
    return float(np.sum(first * second) / math.sqrt(untied[0]) / math.sqrt(untied[1]))


def _pairs(
    measure: Measure, entries: Sequence[Entry], sets: Sequence[str]
) -> Iterator[tuple[str, Means, Means]]:
    """Yield what is compared, and both rankings: of two sizes, then at each size of two seeds and of two sets."""
    by_size = {size: [e for e in entries if e.size == size] for size in sorted({e.size for e in entries})}
    for (size, one), (larger, other) in combinations(by_size.items(), 2):
        names = f"{measure.evaluation}: {thousands(size)} and {thousands(larger)}"
        yield names, _means(measure, one), _means(measure, other)
    for size, of_size in by_size.items():
        seeds = sorted({run.seed for entry in of_size for run in entry.runs})
        for seed, another in combinations(seeds, 2):
            names = f"{measure.evaluation}, {thousands(size)}: seeds {seed} and {another}"
            yield (
                names,
                _means(measure, _of_seed(of_size, seed)),
                _means(measure, _of_seed(of_size, another)),
            )
        for name in sets:
            names = f"{thousands(size)}: {measure.evaluation} and {name}"
            yield names, _means(measure, of_size), _means(replace(measure, evaluation=name), of_size)


def _of_seed(entries: Iterable[Entry], seed: int) -> list[Entry]:
    return [replace(entry, runs=[run for run in entry.runs if run.seed == seed]) for entry in entries]


def _means(measure: Measure, entries: Iterable[Entry]) -> Means:
    return {entry.label: statistics.fmean(values) for entry in entries if (values := measure.values(entry))}
