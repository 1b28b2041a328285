"""Results on stdout; a script can read the last line."""

import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from benchmark.core.launch import is_main_process
from benchmark.core.paths import remote_paths
from benchmark.core.sanitize import redact


@dataclass(frozen=True)
class Finished:
    """What a task tells a sweep."""

    path: Path | None  # of its result; None if the run was left out
    skipped: bool = False  # whether an earlier command had made it
    left_out: str = ""  # the reason, if it was left out
    failure: str = ""  # what failed; the command then ends with exit code 1


def failure_text(failed: Sequence[str], path: Path) -> str:
    """Return the line on metrics that failed, nothing without any."""
    more = f", and {len(failed) - 1} others" if len(failed) > 1 else ""
    return f"{failed[0]}{more}; see the log; {path} has all other metrics" if failed else ""


def print_result(line: str) -> None:
    """Print one line to stdout, once for all processes of a launch; remote folders by their URLs."""
    if is_main_process():
        sys.stdout.write(redact(remote_paths(line)) + "\n")
        sys.stdout.flush()
