"""Learning rates: the best on images that no table shows, and the order of filters at half and at double the rate.

``python -m bench.rates RESULTS`` reads the runs of ``experiment=demo_rates`` and prints Markdown tables.
"""

import sys
from collections import defaultdict
from collections.abc import Sequence
from pathlib import Path
from statistics import fmean

from scipy.stats import kendalltau, rankdata

from benchmark.results.report.advice import find_measure
from benchmark.results.report.table import Table, plain, to_markdown
from benchmark.results.result import Result
from benchmark.results.results_folders import read_runs

METRICS = "CIDEr", "text_to_image_R@1"
Values = dict[float, dict[str, float]]  # of a metric, by learning rate, then by filter


def tables(results: Sequence[Result]) -> list[Table]:
    """Return the mean rank of each rate over filters, on the tuning set, and the orders of filters at the rates.

    A table without runs is left out.
    """
    sets = {evaluation for run in results for of in run.downstream.values() for evaluation in of.evaluations}
    kinds = {"tuning": mean_ranks, "coco": orders}
    return [table(results, metric) for name, table in kinds.items() if name in sets for metric in METRICS]


def mean_ranks(results: Sequence[Result], metric: str) -> Table:
    """Return a metric of each filter on the tuning set by rate, and the mean rank of the rate over filters."""
    label, filters, values = values_at_rates(results, f"tuning/{metric}")
    ranks = rankdata([[-of[name] for of in values.values()] for name in filters], axis=1).mean(axis=0)
    rows = [
        plain(f"{rate:g}", *(f"{of[name]:.1f}" for name in filters), f"{rank:.1f}")
        for (rate, of), rank in zip(values.items(), ranks.tolist(), strict=True)
    ]
    return Table(label, ["rate", *filters, "mean rank"], rows)


def orders(results: Sequence[Result], metric: str) -> Table:
    """Return a metric of each filter on COCO by rate, and the tau of their order with that at the middle rate."""
    label, filters, values = values_at_rates(results, f"coco/{metric}")
    at_rates = [[of[name] for name in filters] for of in values.values()]
    middle = at_rates[len(at_rates) // 2]
    rows = [
        plain(f"{rate:g}", *(f"{value:.1f}" for value in of), f"{kendalltau(of, middle).statistic:.2f}")
        for rate, of in zip(values, at_rates, strict=True)
    ]
    return Table(label, ["rate", *filters, "tau with the middle rate"], rows)


def values_at_rates(results: Sequence[Result], name: str) -> tuple[str, list[str], Values]:
    """Return the label of a metric, ``evaluation set/metric``, the filters with runs at all rates, and its values."""
    measure = find_measure(results, name)
    values = defaultdict[float, dict[str, float]](dict)
    for run in results:
        if of_run := measure.values(run):
            rate = float(run.config["downstream"][measure.model]["training"]["lr"])
            values[rate][run.filter] = measure.signed(fmean(of_run))
    filters = sorted(set.intersection(*map(set, values.values())))
    return f"{measure.label}, {measure.evaluation}", filters, dict(sorted(values.items()))


if __name__ == "__main__":
    print(to_markdown("Learning rates", "", tables(read_runs(Path(sys.argv[1])))))
