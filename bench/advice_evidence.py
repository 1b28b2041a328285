"""The choice of ``task=advise`` and of simpler rules, judged by runs at larger budgets.

``python -m bench.advice_evidence RESULTS [BEST_FILTER]`` reads the runs of ``experiment=advice_evidence`` and prints
Markdown tables. Advice sees only the runs at `FITTED`. BEST_FILTER is the leaderboard's best filter at 200k.
"""

import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import fmean

import numpy as np

from benchmark.results.protocol import size_text
from benchmark.results.report.advice import AdvisedFilter, advise, draw_values, find_measure
from benchmark.results.report.certainty import RunFolders
from benchmark.results.report.frame import Measure
from benchmark.results.report.leaderboard import Entry, group
from benchmark.results.report.table import Cell, Table, plain, to_markdown
from benchmark.results.result import Result
from benchmark.results.results_folders import read_runs
from downstream.metrics.corpus_scores import Doubles

METRICS = "CIDEr", "text_to_image_R@1"
FITTED, HELD_OUT = (250_000, 500_000), (2_000_000, 4_000_000)
LEADERBOARD_SIZE, CLIP_PART = 200_000, 0.3  # CLIP's usual part of the pairs that have a score
INTRODUCTION = (
    "Regret: the best held-out mean of the filters and sizes at 500k less that of the choice, with 95% of draws of"
    " true values. The leaderboard was run at 2m, so its best filter was chosen with a held-out budget."
)
Choice = tuple[str, int]  # a filter's label, and a size


@dataclass(frozen=True)
class HeldOut:
    """The advice for a budget, and n filters and sizes that were run at it. The higher a value, the better."""

    title: str
    measure: Measure
    chosen: AdvisedFilter
    expected: float  # the regret that advice expects
    fitted: list[dict[Choice, float]]  # means at `FITTED`
    means: dict[Choice, float]  # at the held-out budget, the smallest size first
    values: Doubles  # these means, and below them draws of the true values, less one constant, (1 + draws, n)
    clip: Choice  # CLIP at `CLIP_PART`; without a label if it was not run

    @property
    def best(self) -> Choice:
        """The highest mean of the filters and sizes that were run at the largest fitted budget, too."""
        return max(self.fitted[-1].keys() & self.means.keys(), key=self.means.__getitem__)

    @property
    def choice(self) -> Choice:
        """The filter and size that advice chose."""
        return self.chosen.best.filter, self.chosen.best.size

    def rules(self, best_filter: str) -> dict[str, Choice]:
        """Return the filter and size that each rule chooses."""
        return {
            "advice, best measured size": self.choice,
            "advice, equal epochs": (self.choice[0], self.chosen.equal_epochs_size),
            "the leaderboard's best filter at its size": (best_filter, LEADERBOARD_SIZE),
            "the best mean at 500k": max(self.fitted[-1], key=self.fitted[-1].__getitem__),
            "CLIP at 30%": self.clip,
        }

    def regret(self, choice: Choice) -> Doubles | None:
        """Return the regret, found and in each draw, (1 + draws,); None if the filter was not run.

        A size that was not run has the value between its neighbours, linear in the logarithm of the size, or that of
        the nearest size.
        """
        sizes = {at: np.log(size) for at, (label, size) in enumerate(self.means) if label == choice[0]}
        if not sizes:
            return None
        weights = [np.interp(np.log(choice[1]), [*sizes.values()], one) for one in np.eye(len(sizes))]
        best = self.values[:, [of in self.fitted[-1] for of in self.means]].max(axis=1)
        return np.asarray(best - self.values[:, [*sizes]] @ weights)

    def same_order(self, fitted: dict[Choice, float]) -> Doubles:
        """Return the fraction of pairs with the order that they have at a fitted budget, likewise."""
        values = self.values[:, [of in fitted for of in self.means]]
        before = np.array([fitted[of] for of in self.means if of in fitted])
        one, other = np.triu_indices(len(before), 1)
        same = np.sign(values[:, one] - values[:, other]) == np.sign(before[one] - before[other])
        return np.asarray(same.mean(axis=1))


def hold_out(results: Sequence[Result], folders: RunFolders, measure: Measure, budget: int) -> HeldOut:
    """Return the advice for a budget from the runs at `FITTED`, and the runs at that budget."""

    def means(entries: Sequence[Entry]) -> dict[Choice, float]:
        return {(e.label, e.size): measure.signed(fmean(measure.values(e))) for e in entries if e.competes}

    known = [run for run in results if measure.values(run)]
    small, large, held = ([r for r in known if r.budget(measure.model) == of] for of in (*FITTED, budget))
    advice = advise(small + large, folders, measure, budget, None)
    (chosen,) = (of for of in advice.filters if of.best == advice.choice)
    entries, drawn = draw_values(held, folders, measure)
    parts = {run.size: run.size / run.scale / run.selection.scored for run in held if run.filter == "clip"}
    clips = [("clip", size) for size, part in parts.items() if round(part, 2) == CLIP_PART]
    fitted, now = [means(group(runs)) for runs in (small, large)], means(entries)
    values, clip = np.vstack([[*now.values()], drawn.draws]), next(iter(clips), ("", 1))
    title = f"{measure.label} at {size_text(budget)}"
    return HeldOut(title, measure, chosen, advice.regret, fitted, now, values, clip)


def tables(held_out: Sequence[HeldOut], best_filter: str) -> list[Table]:
    """Return three tables: regret by rule, P(best) as said and as found, and pairs that keep their order."""

    def named(choice: Choice) -> str:
        return f"{choice[0]} at {size_text(choice[1])}"

    def cell(values: Doubles, measure: Measure) -> Cell:
        low, high = np.quantile(values[1:], (0.025, 0.975))
        return Cell(measure.text(values[0]), interval=f"{measure.text(low)} to {measure.text(high)}")

    regrets, found, orders = list[list[Cell]](), list[list[Cell]](), list[list[Cell]]()
    for of in held_out:
        for rule, choice in of.rules(best_filter).items():
            regret, interpolated = of.regret(choice), " (interpolated)" * (choice not in of.means)
            cells = plain("not run", "–")
            if regret is not None:
                cells = [Cell(named(choice) + interpolated), cell(regret, of.measure)]
            regrets.append([*plain(of.title, rule), *cells])
        p_best = [f"{p:.0%}" for p in (of.chosen.best.p_best, of.chosen.p_best)]
        found.append(plain(of.title, named(of.choice), *p_best, of.measure.text(of.expected), named(of.best)))
        orders.append([Cell(of.title), *(cell(100 * of.same_order(each), of.measure) for each in of.fitted)])
    said = np.mean([(of.chosen.best.p_best, of.chosen.p_best) for of in held_out], axis=0)
    right = np.mean([(of.choice == of.best, of.choice[0] == of.best[0]) for of in held_out], axis=0)
    note = "P(best) said {:.0%}, of the filter {:.0%}; found: {:.0%} and {:.0%}.".format(*said, *right)
    return [
        Table("Regret", ["", "rule", "filter and size", "regret"], regrets),
        Table("P(best)", ["", "choice", "P(best)", "of filter", "expected regret", "best"], found, [note]),
        Table("Pairs in the same order (%)", ["", "as at 250k", "as at 500k"], orders),
    ]


def evidence(folder: Path, best_filter: str = "", metrics: Sequence[str] = METRICS) -> list[Table]:
    """Return the tables on the results in a folder."""
    results = read_runs(folder)
    folders = RunFolders({run.run_id: folder / run.run_id for run in results})
    measures = [find_measure(results, metric) for metric in metrics]
    held_out = [hold_out(results, folders, measure, budget) for measure in measures for budget in HELD_OUT]
    return tables(held_out, best_filter)


if __name__ == "__main__":
    print(to_markdown("Evidence on advice", INTRODUCTION, evidence(Path(sys.argv[1]), *sys.argv[2:3])))
