"""The collector of garbage, which `benchmark.__main__` switches off while it composes settings."""

import gc


def collect_again() -> None:
    """Switch the collector on, unless it is; the first time, what was made before is never visited."""
    if not gc.isenabled():
        if not gc.get_freeze_count():
            gc.freeze()
        gc.enable()
