"""How the jobs of a sweep ended: a file per job, as jobs may run in other processes and on other machines.

The tables that a sweep ends with are made of them.
"""

import json
from collections import Counter
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Literal, get_args

from benchmark.core.output_folder import local_copy
from benchmark.core.paths import remote_paths, write_text
from benchmark.core.records import scan_records
from benchmark.core.sanitize import map_texts, redact
from benchmark.results.report.run_tables import joint_tables
from benchmark.results.report.table import Table, plain
from benchmark.results.result import Result

State = Literal["done", "skipped", "failed", "not run"]
STATES: tuple[State, ...] = get_args(State)


@dataclass(frozen=True)
class Outcome:
    """How a job ended; `text` is the path of its result, or the error's line."""

    run: str
    state: State
    seconds: float
    text: str
    exit_code: int = 0


def job_file(folder: Path, number: int, suffix: str) -> Path:
    """Return the path in the sweep's folder of a job's outcome (``json``), log (``log``) or stdout (``out``).

    Numbers start at 0.
    """
    return folder / f"job-{number + 1:03d}.{suffix}"


def write_outcome(folder: Path, number: int, outcome: Outcome) -> None:
    """Write how a job ended to the sweep's folder, without credentials and with the URLs of remote folders."""
    texts = map_texts(asdict(outcome), lambda text: redact(remote_paths(text)))
    write_text(job_file(folder, number, "json"), json.dumps(texts))


def read_outcome(folder: Path, number: int) -> Outcome | None:
    """Return how a job ended, None if it has not, or its process ended without a word."""
    path = job_file(folder, number, "json")
    return Outcome(**json.loads(path.read_text(encoding="utf-8"))) if path.is_file() else None


def counts(outcomes: Sequence[Outcome]) -> str:
    """Return how many jobs ended how, for example ``3 done, 1 skipped, 0 failed``."""
    number = Counter(outcome.state for outcome in outcomes)
    return ", ".join(f"{number[state]} {state}" for state in STATES if number[state] or state != "not run")


def outcome_tables(outcomes: Sequence[Outcome]) -> list[Table]:
    """Return a row per job with its state, seconds, and result or error; then the metrics of the results."""
    rows = [plain(o.run, o.state, f"{o.seconds:.1f}", o.text) for o in outcomes]
    title = f"Sweep of {len(outcomes)} runs: {counts(outcomes)}"
    table = Table(title, ["run", "state", "seconds", "result or error"], rows)
    return [table, *joint_tables(_results(outcomes))]


def _results(outcomes: Sequence[Outcome]) -> list[tuple[str, Result]]:
    """Return the results of those jobs that have one, each with the name of its job."""
    finished = [o for o in outcomes if o.state in ("done", "skipped") and o.text]
    names = {o.text.rpartition("/")[::2]: o.run for o in finished}  # by folder, which may be a URL, and file
    records: dict[tuple[str, ...], Result] = {}
    for folder in sorted({folder for folder, _ in names}):
        with local_copy(folder, 0) as copy:
            records |= {(folder, path.name): r for path, r in scan_records(copy, Result)[0].items()}
    return [(name, records[place]) for place, name in names.items() if place in records]
