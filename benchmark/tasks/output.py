"""Results on stdout, whose last line a script can read."""

import sys
from dataclasses import dataclass
from pathlib import Path

from benchmark.core.launch import is_main_process
from benchmark.core.paths import remote_paths
from benchmark.core.redaction import redact


@dataclass(frozen=True)
class Finished:
    """What a task tells a sweep: the path of its result, and whether an earlier command had made it."""

    path: Path
    skipped: bool = False


def print_result(line: str) -> None:
    """Print one line to stdout, once for all processes of a launch; remote folders by their URLs."""
    if is_main_process():
        sys.stdout.write(redact(remote_paths(line)) + "\n")
        sys.stdout.flush()
