"""How many pairs have an image of an evaluation set, as results hold it."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Contamination:
    """How many pairs have an image that is in an evaluation set.

    Args:
        pool: pairs of the pool with the bytes of an evaluation image; None for a remote pool, which is not read.
        kept: likewise pairs of the selection.
        near_pool: pairs of the pool that `NearImages` finds, those with the same bytes among them; None where it
            does not look.
        near_kept: likewise pairs of the selection.
    """

    pool: int | None
    kept: int
    near_pool: int | None = None
    near_kept: int | None = None
