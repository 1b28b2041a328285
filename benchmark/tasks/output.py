"""Lines on stdout: a task's answer, whose last line a script can read."""

import sys

from benchmark.core.launch import is_main_process


def print_result(line: str) -> None:
    """Write one line to stdout, once for all processes of a launch."""
    if is_main_process():
        sys.stdout.write(line + "\n")
        sys.stdout.flush()
