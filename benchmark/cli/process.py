"""The process of a command: its environment variables, and how Ctrl-C and SIGTERM end it with its workers."""

import multiprocessing
import os
import signal
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType

from benchmark.core.launch import STOPPED, is_first_to_end
from benchmark.core.paths import cache_folder, user_path

LINE = "stopped; run the same command to go on"


class Stopped(KeyboardInterrupt):
    """Ctrl-C or SIGTERM, with its number; libraries clean up after a `KeyboardInterrupt`."""


def set_environment() -> None:
    """Set what the user has not set. Raises `UserError` if the cache is not on this machine."""
    if (home := user_path("~")).is_absolute():
        # The system's list of users knows it; configs read the variable.
        os.environ.setdefault("HOME", str(home))
    os.environ["HYDRA_FULL_ERROR"] = "1"  # raise configuration errors instead of printing Hydra's summary
    os.environ.setdefault("PAIRSIFT_SWEEP", time.strftime("%Y%m%d-%H%M%S"))
    # Must be set before torch is imported. OpenMP threads that spin while they wait slow training tenfold on a busy
    # machine; no spinning at all costs a quarter of the speed on an idle one (results/LOG.md).
    os.environ.setdefault("GOMP_SPINCOUNT", "20000")
    os.environ.setdefault("PYDANTIC_DISABLE_PLUGINS", "__all__")  # else it looks for some in all packages
    os.environ.setdefault("TOKENIZERS_PARALLELISM", "false")  # tokenizers warn when a process forks after use
    # Else Ray's launcher writes a token to the home folder, and sends statistics of its use to its makers.
    os.environ.setdefault("RAY_AUTH_MODE", "disabled")
    os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
    # Else their caches are in the folder for temporary files, where nobody removes them, and in the home folder.
    os.environ.setdefault("TORCHINDUCTOR_CACHE_DIR", str(cache_folder("torchinductor")))
    os.environ.setdefault("MPLCONFIGDIR", str(cache_folder("matplotlib")))


@contextmanager
def stop_on_signals() -> Iterator[None]:
    """On Ctrl-C and SIGTERM, as `Stopped`, end the worker processes, print `LINE`, and exit with 130 or 143."""
    before = {number: signal.signal(number, _stop) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield
    except (KeyboardInterrupt, SystemExit) as error:
        if not is_stop(error):
            raise
        if is_first_to_end():
            sys.stderr.write(f"{LINE}\n")
        number = error.args[0] if isinstance(error, Stopped | SystemExit) else signal.SIGINT
        sys.exit(128 + number)
    finally:
        for number, handler in before.items():
            if not STOPPED:  # else the process is about to end, and a second Ctrl-C would print a traceback
                signal.signal(number, handler)


def raise_if_stopped() -> None:
    """Raise `Stopped` again after a signal: an error after it, such as a lost worker, is not a failure."""
    if STOPPED:
        raise Stopped(STOPPED[0])


def is_stop(error: BaseException | None) -> bool:
    """Return whether a signal is behind `error`. Ray's handler of SIGTERM exits with the signal's number."""
    ended = isinstance(error, SystemExit) and error.code == signal.SIGTERM
    return ended or isinstance(error, KeyboardInterrupt)


def _stop(number: int, frame: FrameType | None) -> None:
    signal.signal(number, signal.SIG_IGN)  # a second one would interrupt the removal of half-written files
    STOPPED.append(number)  # first: the workers that end now must not be replaced
    for child in multiprocessing.active_children():
        if not child.daemon:  # daemons, such as decoders of images, are ended by whoever started them
            child.terminate()
    raise Stopped(number)
