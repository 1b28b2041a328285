"""The end of a launch of which one process died: one line, and nobody waits."""

import signal
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager

from benchmark.core.errors import UserError
from benchmark.core.launch import process_count

LINE = "another process of this launch has ended; run the same command to go on"


@contextmanager
def lost_processes_as_one_line() -> Iterator[None]:
    """End this process where its block talks to a process of the launch that has died.

    The first one that notices raises `UserError`, the others exit without a word.
    """
    try:
        yield
    except RuntimeError as error:
        if process_count() == 1 or not _is_of_connection(error):
            raise
        if threading.current_thread() is threading.main_thread():
            signal.signal(signal.SIGTERM, signal.SIG_IGN)  # what torchrun sends now would be a second line
        if _is_first():
            raise UserError(LINE) from error
        sys.exit(1)


def _is_of_connection(error: RuntimeError) -> bool:
    from torch.distributed import DistError

    return isinstance(error, DistError) or "gloo/transport" in str(error)


def _is_first() -> bool:
    """Return whether no other process has asked; the store that they share outlives them under torchrun."""
    from torch.distributed import DistError
    from torch.distributed.distributed_c10d import _get_default_store

    try:
        return bool(_get_default_store().add("pairsift/lost", 1) == 1)
    except DistError:  # the store was the dead process's
        return True
