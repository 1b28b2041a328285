"""The end of a command that mistakes of the user stop."""

import sys
from typing import NoReturn

from benchmark.core.paths import remote_paths
from benchmark.core.redaction import redact
from benchmark.core.visible import visible


def end_with_mistakes(*lines: str, exit_code: int = 2) -> NoReturn:
    """Write a line per mistake to stderr, without credentials and control characters, and exit."""
    for line in lines:
        sys.stderr.write(f"error: {visible(redact(remote_paths(' '.join(line.split()))))}\n")
    sys.exit(exit_code)


def of_job(name: str, mistake: str) -> str:
    """Return a job's mistake with the job's name before it, once: many begin with it, ``seed=x must be ...``."""
    return mistake if mistake.startswith(f"{name} ") else f"{name}: {mistake}"
