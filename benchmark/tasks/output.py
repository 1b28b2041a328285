"""Lines on stdout: a task's answer, whose last line a script can read."""

import sys


def say(line: str) -> None:
    """Write one line to stdout."""
    sys.stdout.write(line + "\n")
    sys.stdout.flush()
