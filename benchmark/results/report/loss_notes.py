"""Notes on runs that trained on fewer pairs than were selected, which `selection.tolerate` had to allow."""

from collections.abc import Iterable

from benchmark.core.batch import counts
from benchmark.results.report.leaderboard_entries import Entry
from benchmark.results.result import Result


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
