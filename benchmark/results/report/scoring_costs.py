"""What scoring cost, in one unit for all filters of a leaderboard."""

from collections.abc import Sequence
from dataclasses import dataclass

from benchmark.results.report.leaderboard_entries import Entry
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
