"""Facts of a row that several tables show: the cost of scoring, kinds of noise, lost pairs, contamination."""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from benchmark.core.batch import counts
from benchmark.results.report.leaderboard import Entry
from benchmark.results.result import Result

# Settings of SBA, VBA and ICC that their scorers need.
DISTILLED = ("_target_", "mode", "checkpoint", "precision")
UNKNOWN = "unknown, as it ran on a GPU or processor seconds were not recorded"
DRAWS = "Draw of 90%: 90% of the pool ties at the threshold, so k pairs of it were drawn at random."


@dataclass(frozen=True)
class ScoringCosts:
    """The cost of each entry's scores by label, in one unit for all entries."""

    unit: str  # ``processor s``, or ``worker s``: seconds on the clock, summed over workers
    unit_name: str
    seconds: dict[str, float | None]  # None if the unit was not measured
    notes: list[str]  # names filters of unknown cost


def scoring_costs(entries: Sequence[Entry]) -> ScoringCosts:
    """Return processor seconds if any result has them, else seconds of workers on the clock; never both units.

    On a GPU, processor seconds are not the cost of scoring.
    """
    measured: dict[str, float | None] = {}
    machines = defaultdict[str, list[str]](list)
    for entry in entries:
        on_cpu = (run for run in entry.runs if all(stage.device == "cpu" for stage in run.stages.values()))
        known = (run.scoring.cpu_seconds for run in on_cpu if run.scoring.cpu_seconds is not None)
        measured[entry.label] = next(known, None)
        if measured[entry.label] is not None:
            machines[entry.runs[0].machine or "an unknown machine"].append(entry.label)
    if not machines:
        clock: dict[str, float | None] = {entry.label: entry.runs[0].scoring.seconds for entry in entries}
        return ScoringCosts("worker s", "seconds of scoring, summed over workers", clock, [])
    unknown = ", ".join(label for label, seconds in measured.items() if seconds is None)
    notes = [f"Cost of {unknown}: {UNKNOWN}."] if unknown else []
    (most, _), *others = sorted(machines.items(), key=lambda of_machine: -len(of_machine[1]))
    if others:
        named = "; ".join(f"{machine} for {', '.join(labels)}" for machine, labels in others)
        kinds = f"{len(machines)} kinds of processor: {named}; {most} for the others"
        notes.append(f"Costs were measured on {kinds}. Compare costs within one kind.")
    return ScoringCosts("processor s", "processor seconds of scoring", measured, notes)


def seconds_text(seconds: float) -> str:
    """Return seconds with two digits below ten."""
    return f"{seconds:,.0f} s" if seconds >= 9.95 else f"{seconds:.2g} s"


def settings_of_what_ran(config: Mapping[str, Any]) -> dict[str, Any]:
    """Return the settings of a filter, without the pipelines that a distilled scorer replaced."""
    distilled = config.get("mode") == "distilled"
    return {
        name: settings_of_what_ran(value) if isinstance(value, Mapping) else value
        for name, value in config.items()
        if not distilled or name in DISTILLED
    }


def noise_kept(entries: Sequence[Entry]) -> dict[str, dict[str, float]]:
    """Return the percentage of each planted kind of noise among the kept pairs by label, if the noise is known."""
    return {
        entry.label: {kind.replace("_", " "): 100 * n / sum(kept.values()) for kind, n in kept.items()}
        for entry in entries
        if any((kept := entry.runs[0].kept).values())
    }


def row_notes(entries: Sequence[Entry]) -> list[str]:
    """Return explanations of rows of several filters, and of rows that are draws; nothing without such rows."""
    same = [" = ".join([entry.label, *entry.same]) for entry in entries if entry.same]
    notes = [f"Filters that selected the same pairs share a row ({', '.join(same)})."] if same else []
    return [*notes, DRAWS] if any(entry.drawn for entry in entries) else notes


def loss_note(result: Result) -> list[str]:
    """Return how many chosen pairs cannot be read, so that the next in rank replaced them; nothing if none."""
    lost = result.selection.lost
    return [f"passed over chosen pairs that cannot be read: {counts(lost)}"] if lost else []


def contamination_notes(entries: Iterable[Entry]) -> list[str]:
    """Return which filters keep pairs with an evaluation image; one note if none does; nothing if unchecked."""
    counted = [
        (entry.label, name, of_set)
        for entry in entries
        for name, of_set in entry.runs[0].contamination.items()
    ]
    notes = [
        f"Evaluation images: {label} keeps {of_set.kept:,} pairs with the bytes of an image of {name}{near}."
        for label, name, of_set in counted
        if (near := f", and {of_set.near_kept:,} near one" if of_set.near_kept else "") or of_set.kept
    ]
    everywhere = all(of_set.near_kept is not None for *_, of_set in counted)
    near = "and by CLIP embeddings" if everywhere else "near-duplicates were not looked for"
    none = f"Evaluation images: no kept pair has one (by bytes{' ' if everywhere else '; '}{near})."
    return notes or [none] * bool(counted)
