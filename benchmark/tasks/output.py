"""Results on stdout, whose last line a script can read."""

import sys

from benchmark.core.launch import is_main_process


def print_result(line: str) -> None:
    """Print one line to stdout, once for all processes of a launch."""
    if is_main_process():
        sys.stdout.write(line + "\n")
        sys.stdout.flush()
