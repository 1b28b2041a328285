"""The verdict of a leaderboard: which filter is best by each headline metric, or why no filter is called better."""

import shlex
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np

from benchmark.results.protocol import BUDGET, LIMIT, key_of, size_text
from benchmark.results.report.certainty import Compared, RunFolders, compare_entries
from benchmark.results.report.frame import headlines
from benchmark.results.report.leaderboard import (
    REFERENCE,
    REFERENCES,
    Entry,
    caveat,
    group,
    is_dry_run,
    of_protocol,
    quick_look,
)
from benchmark.results.result import Result

NAMED = 4  # filters that a sentence names
SEEDS = 3  # that a first comparison needs
LONGER = 4  # factor of a budget that may show more


@dataclass(frozen=True)
class Verdict:
    """What one headline metric shows, with both kinds of noise or, if seeds were not varied, over images only."""

    heading: str  # the metric and the evaluation set, and why figures are not findings
    sentence: str
    with_seeds: bool  # whether both kinds of noise are known
    no_gain: bool  # whether no filter is shown to beat the reference


@dataclass(frozen=True)
class BoardVerdict:
    """The verdicts of one leaderboard, remarks, and texts with the command that would show more."""

    verdicts: list[Verdict]
    remarks: list[str]
    advice: list[tuple[str, str]]

    @property
    def lines(self) -> list[str]:
        """All of it as text."""
        said = [f"{verdict.heading}: {verdict.sentence}" for verdict in self.verdicts]
        return said + self.remarks + [f"{text}: {command}" for text, command in self.advice]


def board_verdict(
    runs: Sequence[Result],
    folders: RunFolders,
    committed: Sequence[Result] = (),
    among: Sequence[Result] = (),
) -> BoardVerdict:
    """Return the verdict of runs of one protocol.

    Without random selection among them, they are compared with the `committed` runs of it under their protocol. Names
    are unique `among` runs of other sizes, too.
    """
    lacks = all(run.filter != REFERENCE for run in runs)
    same = of_protocol(committed, runs[0].protocol) if lacks else []
    added = [run for run in same if run.filter == REFERENCE]
    of_setting = [run for run in among if run.protocol.setting == runs[0].protocol.setting]
    entries = group([*runs, *added], [*runs, *added, *of_setting])
    competing = [entry for entry in entries if entry.competes]
    compared = [compare_entries(measure, entries, folders) for measure in headlines(entries)]
    verdicts = [_verdict(of, caveat(runs[0])) for of in compared if len(of.competing) > 1]
    remarks = [f"{REFERENCE} is from the reference results of the checkout."] * bool(added and verdicts)
    if len(competing) == 1:
        remarks.append(f"Only {competing[0].label} competes here: there is nothing to compare it with.")
    return BoardVerdict(verdicts, remarks, list(_advice(competing, verdicts, runs)) if compared else [])


def _verdict(compared: Compared, not_finding: str) -> Verdict:
    comparison, measure = compared.comparison, compared.measure
    ranked = [index for index in compared.ranking if index in compared.competing]
    with_seeds = bool(comparison.pairs)
    better = partial(comparison.better, over_images=not with_seeds)
    tested = with_seeds or bool(np.isfinite(comparison.over_images).any())
    reference = next((i for name in REFERENCES if (i := compared.index(name)) in ranked), None)
    above = [index for index in ranked if reference is not None and better(index, reference)]
    no_gain = tested and reference is not None and not above
    others = [index for index in ranked[1:] if not better(ranked[0], index)]
    mean = [measure.text(estimate.mean) for estimate in comparison.estimates]
    named = partial(_names, compared)
    top, extreme = mean[ranked[0]], "highest" if measure.higher_is_better else "lowest"
    best = f"{named(ranked[:1])} has the {extreme} mean ({top})"
    several = any(estimate.runs > 1 for estimate in comparison.estimates)
    unknown = "too few seeds were run" if several else "seeds were not varied"
    if not tested:
        lacking = f"{unknown} and " * (not several) + "there are no scores of single images"
        sentence = f"no filter is called better, as {lacking}; {best}."
    elif no_gain and reference is not None:
        least = f", even over evaluation images only ({unknown})" * (not with_seeds)
        of_reference = f", {named([reference])} {mean[reference]}" * (reference != ranked[0])
        sentence = f"no filter is shown to beat {named([reference])} here{least}; {best}{of_reference}."
    elif with_seeds and not others:
        every = "every other filter" if len(ranked) > 2 else named(ranked[1:])
        sentence = f"{named(ranked[:1])} ({top}) is better than {every}."
    elif with_seeds:
        sentence = f"{best}; not shown to be worse: {named(others)}."
    else:
        rest = f"not shown to be below it: {named(others)}" if others else "all others are below it"
        rest += f"; above {named([reference])}: {named(above)}" if reference is not None else ""
        sentence = f"{unknown}, so none is called better. Over evaluation images only, {best}; {rest}."
    heading = f"{measure.label} on {measure.evaluation}"
    heading += f" ({not_finding}, not a finding)" if not_finding else ""
    return Verdict(heading, sentence, with_seeds, no_gain)


def _names(compared: Compared, indices: Sequence[int]) -> str:
    """Return the labels of filters, the reference by the name of its role."""
    roles = {compared.index(name): name for name in reversed(REFERENCES)}
    labels = [roles.get(index, compared.entries[index].label) for index in indices]
    return ", ".join(labels[:NAMED]) + f" and {len(labels) - NAMED} more" * (len(labels) > NAMED)


def _advice(
    competing: Sequence[Entry], verdicts: Sequence[Verdict], own: Sequence[Result]
) -> Iterator[tuple[str, str]]:
    """Yield how to learn what the verdicts leave open, each with the command."""
    names = list(dict.fromkeys(run.typed_filter for entry in competing for run in entry.all_runs))
    needs = dict[str, tuple[str, str]]()  # settings and their values by the purpose
    if is_dry_run(own[0]):
        needs["real models (without models=demo)"] = "models", ""
    if quick_look(own[0]):
        needs[f"all evaluation images (without evalset.{LIMIT})"] = f"evalset.{LIMIT}", ""
    whole = not needs
    if not {*REFERENCES}.intersection(names):
        needs[f"{REFERENCE} as the reference"] = "filter", ",".join([REFERENCE, *names])
    elif not verdicts:
        needs["filters to compare"] = "filter", ",".join([*names, "clip", "icc"])
    no_gain = any(verdict.no_gain for verdict in verdicts)
    if no_gain or not verdicts or not all(verdict.with_seeds for verdict in verdicts):
        seeds = max(SEEDS, 2 + max((len({run.seed for run in e.all_runs}) for e in competing), default=0))
        needs[f"{seeds} seeds"] = "seed", ",".join(map(str, range(seeds)))
    changed = dict(needs.values())
    if needs:
        yield f"To tell more, repeat the command with {' and '.join(needs)}", _command(own, names, changed)
    budgets = {trained.training.samples_seen for run in own for trained in run.downstream.values()}
    if no_gain and whole and len(budgets) == 1:
        changed["budget"] = size_text(LONGER * own[0].scale * budgets.pop())
        yield "Or with a larger budget", _command(own, names, changed)


def _command(runs: Sequence[Result], names: Sequence[str], changed: dict[str, str]) -> str:
    """Return the command that made the runs, changed; only the changes if the runs do not share a command."""
    given = {"filter": ",".join(names), **changed}
    kept = [[o for o in run.overrides or () if key_of(o) not in {*given, "seed"}] for run in runs]
    if "budget" in given:  # which would contradict it
        kept = [[o for o in of if not key_of(o).endswith(BUDGET)] for of in kept]
    of_filters = any(
        key_of(o).startswith("filter.") for others in kept for o in others
    )  # not another filter's
    shared = (
        all(run.overrides is not None for run in runs) and kept == kept[:1] * len(kept) and not of_filters
    )
    words = ["python", "-m", "benchmark", *kept[0]] if shared else []
    settings = given if shared else changed
    return shlex.join([*words, *(f"{name}={value}" for name, value in settings.items() if value)])
