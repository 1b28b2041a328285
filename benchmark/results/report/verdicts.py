"""The verdict of a leaderboard: which filter is best by each headline metric, or why no filter is called better."""

import shlex
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from benchmark.results.protocol import LIMIT, key_of, size_text
from benchmark.results.report.certainty import Compared, RunFolders, compare_entries
from benchmark.results.report.leaderboard import (
    REFERENCE,
    Entry,
    caveat,
    group,
    headlines,
    is_dry_run,
    quick_look,
)
from benchmark.results.result import Result

REFERENCES = (REFERENCE, "no_filter")
NAMED = 4  # filters that a sentence names
SEEDS = 3  # that a first comparison needs
LONGER = 4  # factor of a budget that may tell more


@dataclass(frozen=True)
class Verdict:
    """What one headline metric shows, with both kinds of noise or, without repeated seeds, over images only."""

    compared: Compared

    @property
    def with_seeds(self) -> bool:
        """Whether filters were compared with both kinds of noise."""
        return bool(self.compared.comparison.pairs)

    @property
    def over_images(self) -> bool:
        """Whether filters were only compared over evaluation images, as seeds were not varied."""
        return not self.with_seeds and bool(np.isfinite(self.compared.comparison.over_images).any())

    @cached_property
    def ranked(self) -> list[int]:
        """The filters that compete, the best mean first."""
        return [index for index in self.compared.ranking if index in self.compared.competing]

    @property
    def reference(self) -> int | None:
        """Random selection, or else the whole pool."""
        found = (self.compared.index(name) for name in REFERENCES)
        return next((index for index in found if index in self.ranked), None)

    def beats(self, one: int, other: int) -> bool:
        """Tell whether `one` is better than `other`; without repeated seeds, over images only."""
        comparison = self.compared.comparison
        return (comparison.better if self.with_seeds else comparison.better_over_images)(one, other)

    @property
    def as_good(self) -> list[int]:
        """The filter with the best mean and those that are not shown to be worse."""
        best, *others = self.ranked
        return [best, *(other for other in others if not self.beats(best, other))]

    @property
    def beats_reference(self) -> list[int]:
        """The filters that are better than the reference."""
        return [i for i in self.ranked if self.reference is not None and self.beats(i, self.reference)]

    @property
    def no_gain(self) -> bool:
        """Whether no filter is shown to beat the reference."""
        known = self.with_seeds or self.over_images
        return known and self.reference is not None and not self.beats_reference

    @property
    def cheapest_of(self) -> list[Entry]:
        """The filters among which the cheapest is worth a mention."""
        worth = self.with_seeds and not self.no_gain
        return [self.compared.entries[index] for index in self.as_good] if worth else []

    @property
    def heading(self) -> str:
        """The metric and the evaluation set."""
        return f"{self.compared.measure.label} on {self.compared.measure.evaluation}"

    @property
    def sentence(self) -> str:
        """The verdict in words, which follow `heading`."""
        best = f"{self._names(self.ranked[:1])} has the highest mean ({self._mean(self.ranked[0])})"
        if not self.compared.measure.higher_is_better:
            best = best.replace("highest", "lowest")
        if not self.with_seeds and not self.over_images:
            return f"no filter is called better, as {self._lacking}; {best}."
        if self.no_gain and self.reference is not None:
            reference = self._names([self.reference])
            if self.reference != self.ranked[0]:
                best += f", {reference} {self._mean(self.reference)}"
            least = ", even over evaluation images only (seeds were not varied)" * self.over_images
            return f"no filter is shown to beat {reference} here{least}; {best}."
        others = self.as_good[1:]
        if self.with_seeds and not others:
            every = "every other filter" if len(self.ranked) > 2 else self._names(self.ranked[1:])
            return f"{self._names(self.ranked[:1])} ({self._mean(self.ranked[0])}) is better than {every}."
        if self.with_seeds:
            return f"{best}; not shown to be worse: {self._names(others)}."
        above = "" if self.reference is None else f"; above {self._names([self.reference])}: "
        above += self._names(self.beats_reference)
        rest = f"not shown to be below it: {self._names(others)}" if others else "all others are below it"
        return (
            f"seeds were not varied, so no filter is called better. Over evaluation images only, {best};"
            f" {rest}{above}."
        )

    @property
    def _lacking(self) -> str:
        images = "the results have no scores of single images"
        varied = any(estimate.runs > 1 for estimate in self.compared.comparison.estimates)
        return images if varied else f"seeds were not varied and {images}"

    def _mean(self, index: int) -> str:
        return self.compared.measure.text(self.compared.comparison.estimates[index].mean)

    def _names(self, indices: Sequence[int]) -> str:
        labels = [self.compared.entries[index].label for index in indices]
        if self.reference in indices:  # by its role, if the row has another name
            at = list(indices).index(self.reference)
            labels[at] = next(n for n in REFERENCES if self.compared.index(n) == self.reference)
        more = len(labels) - NAMED
        return ", ".join(labels[:NAMED]) + f" and {more} more" * (more > 0)


@dataclass(frozen=True)
class BoardVerdict:
    """The verdicts of one leaderboard, and the commands that would tell more."""

    caveat: str  # why its figures are not findings; empty if they are
    verdicts: list[Verdict]
    remarks: list[str]
    advice: list[tuple[str, str]]  # a text, and the command or settings that follow it

    @property
    def sentences(self) -> list[tuple[str, str]]:
        """The heading and the sentence of each verdict."""
        caveat = f" ({self.caveat}, not a finding)" if self.caveat else ""
        return [(verdict.heading + caveat, verdict.sentence) for verdict in self.verdicts]

    @property
    def lines(self) -> list[str]:
        """All of it as text."""
        said = [f"{heading}: {sentence}" for heading, sentence in self.sentences]
        return said + self.remarks + [f"{text}: {command}" for text, command in self.advice]


def board_verdict(
    runs: Sequence[Result], folders: RunFolders, committed: Sequence[Result] = ()
) -> BoardVerdict:
    """Return the verdict of runs of one protocol.

    Without random selection among them, they are compared with the `committed` runs of it under their protocol.
    """
    own = list({run.run_id: run for run in runs}.values())
    shipped = [
        run for run in committed if run.filter == REFERENCE and _fingerprint(run) == _fingerprint(own[0])
    ]
    added = [] if any(run.filter == REFERENCE for run in own) else shipped
    entries = group([*own, *added])
    competing = [entry for entry in entries if entry.competes]
    verdicts = [Verdict(compare_entries(measure, entries, folders)) for measure in headlines(entries)]
    verdicts = [verdict for verdict in verdicts if len(verdict.ranked) > 1]
    remarks = [f"{REFERENCE} is from the reference results of the checkout."] * bool(added and verdicts)
    if len(competing) == 1:
        remarks.append(f"Only {competing[0].label} competes here: there is nothing to compare it with.")
    advice = list(_advice(competing, verdicts, own))
    return BoardVerdict(caveat(own[0]), verdicts, remarks, advice)


def _advice(
    competing: Sequence[Entry], verdicts: Sequence[Verdict], own: Sequence[Result]
) -> Iterator[tuple[str, str]]:
    """Yield how to learn what the verdicts leave open, each with the command."""
    if not competing or not headlines(competing):
        return
    names = list(dict.fromkeys(run.filter for entry in competing for run in entry.all_runs))
    needs, drop, settings = list[str](), set[str](), dict[str, str]()
    if is_dry_run(own[0]):
        needs.append("real models (without models=demo)")
        drop.add("models")
    if quick_look(own[0]):
        needs.append(f"all evaluation images (without evalset.{LIMIT})")
        drop.add(f"evalset.{LIMIT}")
    if not {*REFERENCES}.intersection(names) and all(verdict.reference is None for verdict in verdicts):
        needs.append(f"{REFERENCE} as the reference")
        settings["filter"] = ",".join([REFERENCE, *names])
    elif len(competing) == 1 and not verdicts:
        needs.append("filters to compare")
        settings["filter"] = ",".join([*names, "clip", "icc"])
    seeds = max(len({run.seed for run in entry.all_runs}) for entry in competing)
    no_gain = any(verdict.no_gain for verdict in verdicts)
    if no_gain or not verdicts or not all(verdict.with_seeds for verdict in verdicts):
        more = max(SEEDS, seeds + 2)
        needs.append(f"{more} seeds")
        settings["seed"] = ",".join(map(str, range(more)))
    if needs:
        yield (
            f"To tell more, repeat the command with {' and '.join(needs)}",
            _command(own, names, drop, settings),
        )
    budgets = {trained.training.samples_seen for run in own for trained in run.downstream.values()}
    if no_gain and not drop and len(budgets) == 1:
        scale = own[0].config.get("pool", {}).get("scale", 1)
        longer = {**settings, "budget": size_text(LONGER * scale * budgets.pop())}
        yield "Or with a larger budget", _command(own, names, drop, longer)


def _command(
    runs: Sequence[Result], names: Sequence[str], drop: Collection[str], settings: Mapping[str, str]
) -> str:
    """Return the command that made the runs, with other settings; only the settings if it is not known."""
    changed = {"filter": ",".join(names), **settings}
    kept = {
        None
        if run.overrides is None
        else tuple(o for o in run.overrides if key_of(o) not in {*changed, "seed", *drop})
        for run in runs
    }
    typed = kept.pop() if len(kept) == 1 else None
    given = settings if typed is None else changed
    start = [] if typed is None else ["python", "-m", "benchmark", *typed]
    return shlex.join([*start, *(f"{name}={value}" for name, value in given.items())])


def _fingerprint(run: Result) -> str:
    return run.protocol.fingerprint
