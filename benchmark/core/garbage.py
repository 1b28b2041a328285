"""The collector of garbage, which `benchmark.__main__` switches off while it imports and composes settings."""

import gc


def collect_again() -> None:
    """Switch the collector on, unless it is; it never visits what was made before."""
    if not gc.isenabled():
        gc.freeze()
        gc.enable()
