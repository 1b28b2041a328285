"""Facts of a row that several tables show: the cost of scoring, lost pairs, contamination."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from benchmark.core.batch import counts
from benchmark.results.report.leaderboard import Entry
from benchmark.results.result import Result


@dataclass(frozen=True)
class ScoringCosts:
    """The cost of each entry's scores, and what it is measured in.

    Args:
        unit: ``processor s``, or ``worker s``: seconds on the clock, summed over workers.
        unit_name: the unit in words.
        heading: of a column whose cells name seconds.
        seconds: by label; None where the unit was not measured.
        notes: a line that names the filters of unknown cost, if there are some.
    """

    unit: str
    unit_name: str
    heading: str
    seconds: dict[str, float | None]
    notes: list[str]


def scoring_costs(entries: Sequence[Entry]) -> ScoringCosts:
    """Return processor seconds where any result has them, and seconds of workers on the clock elsewhere.

    The two are never shown side by side: results without processor seconds are then of unknown cost.
    """
    measured = {entry.label: _processor_seconds(entry) for entry in entries}
    if all(seconds is None for seconds in measured.values()):
        clock: dict[str, float | None] = {entry.label: entry.runs[0].scoring.seconds for entry in entries}
        return ScoringCosts("worker s", "seconds of scoring, summed over workers", "scoring", clock, [])
    unknown = [label for label, seconds in measured.items() if seconds is None]
    note = (
        f"Cost of {', '.join(unknown)}: unknown, as processor seconds were not recorded when its scores or their"
        " features were made."
    )
    notes = [note] if unknown else []
    return ScoringCosts("processor s", "processor seconds of scoring", "scoring (processor)", measured, notes)


def _processor_seconds(entry: Entry) -> float | None:
    """Return the processor seconds of the first run that has them; on a GPU they are not what scoring costs."""
    return next((run.scoring.cpu_seconds for run in entry.runs if _counts(run)), None)


def _counts(run: Result) -> bool:
    return run.scoring.cpu_seconds is not None and all(stage.device == "cpu" for stage in run.stages.values())


def loss_note(result: Result) -> list[str]:
    """Return how many of its selected pairs a run trained on; nothing if on all."""
    selection = result.selection
    if not selection.lost:
        return []
    trained = f"{selection.readable:,} of {selection.distinct:,} selected pairs"
    return [f"trained on {trained}: {counts(selection.lost)}"]


def loss_notes(entries: Iterable[Entry]) -> list[str]:
    """Return such a note for each run that has one."""
    runs = [(entry, run) for entry in entries for run in entry.runs]
    return [f"{entry.label} (seed {run.seed}) {note}." for entry, run in runs for note in loss_note(run)]


def contamination_notes(entries: Iterable[Entry]) -> list[str]:
    """Return which filters keep pairs with an evaluation image; one note if none does; nothing if unchecked."""
    counted = [(entry, entry.runs[0].contamination) for entry in entries if entry.runs[0].contamination]
    if not counted:
        return []
    notes = [
        f"Evaluation images: {entry.label} keeps {found.kept:,} pairs with the bytes of an image of {name}{near}."
        for entry, of_sets in counted
        for name, found in of_sets.items()
        if (near := f", and {found.near_kept:,} near one" if found.near_kept else "") or found.kept
    ]
    everywhere = all(found.near_kept is not None for _, of_sets in counted for found in of_sets.values())
    near = (
        "by bytes and by CLIP embeddings" if everywhere else "by bytes; near-duplicates were not looked for"
    )
    return notes or [f"Evaluation images: no kept pair has one ({near})."]
