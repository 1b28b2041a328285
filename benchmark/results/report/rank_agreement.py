"""Whether filters rank alike at other sizes, with other seeds and on other evaluation sets of one setting."""

import math
import statistics
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from itertools import combinations

import numpy as np

from benchmark.results.report.headlines import Headline, headlines
from benchmark.results.report.leaderboard_entries import Entry, by_setting, group
from benchmark.results.report.leaderboard_tables import thousands
from benchmark.results.report.table import MISSING, Cell, Table, plain
from benchmark.results.result import Result

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
            for row in _rows(h, entries, _sets(runs, h))
        ]
        pool = runs[0].pool + (f" [{runs[0].protocol.setting}]" if len(settings) > 1 else "")
        header = ["rankings", "metric", "filters", "tau"]
        tables.append(Table(f"Agreement of rankings, pool {pool}", header, rows, [NOTE]))
    return [table for table in tables if table.rows]


def _sets(runs: Iterable[Result], headline: Headline) -> list[str]:
    """Return the other evaluation sets of the headline's model."""
    trained = [run.downstream[headline.model] for run in runs if headline.model in run.downstream]
    return sorted({name for model in trained for name in model.evaluations} - {headline.evaluation})


def _rows(headline: Headline, entries: Sequence[Entry], sets: Sequence[str]) -> Iterator[list[Cell]]:
    for names, one, other in _pairs(headline, entries, sets):
        shared = sorted(one.keys() & other.keys())
        if len(shared) >= FEWEST:
            tau = kendall_tau([one[label] for label in shared], [other[label] for label in shared])
            text = MISSING if math.isnan(tau) else f"{tau:.2f}"
            yield plain(names, METRICS[headline.metric], str(len(shared)), text)


def kendall_tau(one: Sequence[float], other: Sequence[float]) -> float:
    """Return tau-b of two rankings of the same n items, which corrects for ties; NaN where one is all ties."""
    first, second = (np.sign(np.subtract.outer(values, values)) for values in (one, other))
    untied = [np.count_nonzero(signs) for signs in (first, second)]
    if not all(untied):
        return math.nan
    return float(np.sum(first * second) / math.sqrt(untied[0]) / math.sqrt(untied[1]))


def _pairs(
    headline: Headline, entries: Sequence[Entry], sets: Sequence[str]
) -> Iterator[tuple[str, Means, Means]]:
    """Yield what is compared, and both rankings: of two sizes, then at each size of two seeds and of two sets."""
    by_size = {size: [e for e in entries if e.size == size] for size in sorted({e.size for e in entries})}
    for (size, one), (larger, other) in combinations(by_size.items(), 2):
        names = f"{headline.evaluation}: {thousands(size)} and {thousands(larger)}"
        yield names, _means(headline, one), _means(headline, other)
    for size, of_size in by_size.items():
        seeds = sorted({run.seed for entry in of_size for run in entry.runs})
        for seed, another in combinations(seeds, 2):
            names = f"{headline.evaluation}, {thousands(size)}: seeds {seed} and {another}"
            yield (
                names,
                _means(headline, _of_seed(of_size, seed)),
                _means(headline, _of_seed(of_size, another)),
            )
        for name in sets:
            names = f"{thousands(size)}: {headline.evaluation} and {name}"
            yield names, _means(headline, of_size), _means(replace(headline, evaluation=name), of_size)


def _of_seed(entries: Iterable[Entry], seed: int) -> list[Entry]:
    return [replace(entry, runs=[run for run in entry.runs if run.seed == seed]) for entry in entries]


def _means(headline: Headline, entries: Iterable[Entry]) -> Means:
    return {entry.label: statistics.fmean(values) for entry in entries if (values := headline.values(entry))}
