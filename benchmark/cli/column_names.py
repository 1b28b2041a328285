"""Names of a pool's columns on the command line, which its config need not list."""

from collections.abc import Sequence


def add_column_names(arguments: Sequence[str]) -> list[str]:
    """Return the overrides with ``pool.columns.OURS=NAME`` as Hydra sets what may be new: ``++pool.columns...``."""
    return [f"++{a}" if a.startswith(("pool.columns.", "pool.columns=")) else a for a in arguments]
