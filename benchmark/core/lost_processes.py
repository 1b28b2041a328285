"""The end of a launch of which one process died: one line, and nobody waits."""

import signal
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager

from benchmark.core.errors import UserError
from benchmark.core.launch import is_main_process, process_count

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
        if is_first_to_end():
            raise UserError(LINE) from error
        sys.exit(1)


def _is_of_connection(error: RuntimeError) -> bool:
    from torch.distributed import DistError

    return isinstance(error, DistError) or "gloo/transport" in str(error)


def is_first_to_end() -> bool:
    """Return whether no other process of the launch has asked: the one that says why the launch ends.

    The main process need not live then. The store that processes share is torchrun's and outlives them.
    """
    if process_count() == 1:
        return True
    from torch import distributed
    from torch.distributed.distributed_c10d import _get_default_store

    if not distributed.is_initialized():
        return is_main_process()
    try:
        return bool(_get_default_store().add("pairsift/ended", 1) == 1)
    except distributed.DistError:  # without torchrun, the store is a process's own
        return True
