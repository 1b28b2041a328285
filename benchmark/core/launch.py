"""The processes of one launch by ``torchrun``, their cores, and how they end."""

from __future__ import annotations

import multiprocessing
import os
import signal
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from multiprocessing import resource_tracker
from typing import Any

from benchmark.core.errors import UserError

# OpenMP, which torch and faiss use, and the BLAS of numpy and scipy read them when they are loaded.
THREADS = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")
LINE = "another process of this launch has ended; run the same command to go on"
_given_cores: int | None = None  # what an engine has given to this process
STOPPED: list[int] = []  # the signal that ends this process, once Ctrl-C or SIGTERM has come


def process_count() -> int:
    """Return the number of processes of the launch, 1 without one."""
    return int(os.environ.get("WORLD_SIZE", "1"))


def is_main_process() -> bool:
    """Return whether this is the run's only process, or rank 0 of a launch."""
    return os.environ.get("RANK", "0") == "0"


def available_cores() -> int:
    """Return the number of cores that this process and others on the machine can run on."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def own_cores() -> int:
    """Return how many of them are this process's own: what its engine gave it, or its part of them in a launch.

    It is not torch's number of threads, which is 1 under ``torchrun``.
    """
    return _given_cores or max(1, available_cores() // int(os.environ.get("LOCAL_WORLD_SIZE", "1")))


def take_cores(cores: int) -> None:
    """Give this process so many cores, and as many threads to the libraries that it imports later, and to torch."""
    global _given_cores
    _given_cores = cores
    os.environ.update(dict.fromkeys(THREADS, str(cores)))
    if torch := sys.modules.get("torch"):
        torch.set_num_threads(cores)


@contextmanager
def ctrl_c_left_to_parent() -> Iterator[None]:
    """Block Ctrl-C in processes that are started in the block: it reaches them too, but their parent ends them.

    The parent gets its own Ctrl-C after the block.
    """
    resource_tracker.ensure_running()  # started in the block, it would let signals through again
    before = signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGINT])
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def end_with_parent() -> None:
    """Let this worker process exit when its parent dies, whose work is then no longer needed."""
    parent = multiprocessing.parent_process()

    def wait() -> None:
        if parent is not None:
            parent.join()
            os._exit(1)

    threading.Thread(target=wait, daemon=True).start()


def hide_wandb() -> None:
    """Let libraries do without wandb in this worker process, where nothing is tracked.

    timm imports it if it is installed; it then makes temporary folders, which stay when a worker is ended.
    """
    sys.modules.setdefault("wandb", None)  # type: ignore[arg-type]  # documented: its import raises ImportError


@contextmanager
def lost_processes_as_one_line() -> Iterator[None]:
    """End this process if its block talks to a process of the launch that has died.

    The first process that notices raises `UserError`, the others exit silently.
    """
    try:
        yield
    except RuntimeError as error:
        lost = process_count() > 1 and (
            isinstance(error, torch_distributed().DistError) or "gloo/transport" in str(error)
        )
        if not lost:
            raise
        if threading.current_thread() is threading.main_thread():
            signal.signal(signal.SIGTERM, signal.SIG_IGN)  # what torchrun sends now would be a second line
        if is_first_to_end():
            raise UserError(LINE) from error
        sys.exit(1)


def is_first_to_end() -> bool:
    """Return whether this process is the first of the launch to ask; it then says why the launch ends.

    The main process need not live then. The store that processes share is torchrun's and outlives them.
    """
    if process_count() == 1:
        return True
    distributed = torch_distributed()
    if not distributed.is_initialized():
        return is_main_process()
    try:
        return bool(distributed.distributed_c10d._get_default_store().add("pairsift/ended", 1) == 1)
    except distributed.DistError:  # without torchrun, the store is a process's own
        return True


def torch_distributed() -> Any:
    """Return ``torch.distributed``: a command without a launch is answered before torch is imported."""
    import torch.distributed

    return torch.distributed
