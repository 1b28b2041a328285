"""The collector of garbage, switched off where many objects are made that all stay."""

import gc
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def no_collection() -> Iterator[None]:
    """Collect nothing inside: to visit thousands of objects again and again takes a tenth of the time of the work."""
    if not gc.isenabled():
        yield
        return
    gc.disable()
    try:
        yield
    finally:
        gc.enable()


def collect_again() -> None:
    """Switch on the collector that `benchmark.__main__` switches off while it composes settings, unless it is on.

    The first time, what was made before is never visited.
    """
    if not gc.isenabled():
        if not gc.get_freeze_count():
            gc.freeze()
        gc.enable()
