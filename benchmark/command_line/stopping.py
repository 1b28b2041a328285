"""Ctrl-C and SIGTERM: the processes that work for a command end with it, and one line says how to go on."""

import multiprocessing
import signal
import sys
from types import FrameType
from typing import NoReturn

from benchmark.core.launch import is_main_process

LINE = "stopped; run the same command to go on"


class Stopped(KeyboardInterrupt):
    """Ctrl-C was pressed, or the process was asked to end; a `KeyboardInterrupt`, as libraries clean up after one.

    Args:
        number: the signal's number.
    """

    def __init__(self, number: int) -> None:
        super().__init__(number)
        self.exit_code = 128 + number


_stopped: list[Stopped] = []  # a signal handler has no other place to leave what it raised


def stop_on_signals() -> None:
    """Raise `Stopped` on Ctrl-C and SIGTERM, after the worker processes have been ended."""
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, _stop)


def raise_if_stopped() -> None:
    """Raise `Stopped` again after a signal: what fails then, such as a pool whose workers ended, is no failure."""
    if _stopped:
        raise _stopped[0]


def end_stopped() -> NoReturn:
    """Print the line, and end with the exit code of the signal: 130 or 143."""
    if is_main_process():
        sys.stderr.write(f"{LINE}\n")
    sys.exit(_stopped[0].exit_code if _stopped else 128 + signal.SIGINT)


def _stop(number: int, frame: FrameType | None) -> None:
    signal.signal(number, signal.SIG_IGN)  # a second one would interrupt the removal of half-written files
    for child in multiprocessing.active_children():
        if not child.daemon:  # daemons, such as those that decode images, are ended by those who started them
            child.terminate()
    stopped = Stopped(number)
    _stopped.append(stopped)
    raise stopped
