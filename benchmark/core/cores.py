"""The processor cores of this process: how many processes and threads it starts."""

import os
import sys

from benchmark.core.launch import local_process_count

# OpenMP, which torch and faiss use, and the BLAS of numpy and scipy read them when they are loaded.
THREADS = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")
_share: int | None = None  # what an engine has given to this process


def available_cores() -> int:
    """Return the number of cores that this process can run on, with the processes beside it."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def own_cores() -> int:
    """Return how many of them are this process's own: what its engine gave it, or the share of one of a launch.

    It is not torch's number of threads, which is 1 under ``torchrun``.
    """
    return _share or max(1, available_cores() // local_process_count())


def take_cores(cores: int) -> None:
    """Give this process so many cores, and as many threads to the libraries that it imports later, and to torch."""
    global _share
    _share = cores
    os.environ.update(dict.fromkeys(THREADS, str(cores)))
    if torch := sys.modules.get("torch"):
        torch.set_num_threads(cores)
