"""The record of a selection: its inputs, counts and files."""

from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True)
class Manifest:
    """Describes subset files: the pool, filter, selector and size that made them, and drop counts."""

    pool: str
    filter: str
    config: dict[str, Any]
    k: int
    seed: int
    threshold: float | None  # None if it is infinite
    scored: int
    tied: int  # samples whose score is the threshold
    tied_kept: int  # selected samples among these: the first by `seed`
    drops: dict[str, int]
    sha256: str
    distinct: int  # samples that are in at least one epoch
    files: list[str]  # the subset file of each epoch
    selector: str
    selector_config: dict[str, Any]
    versions: dict[str, str] = field(default_factory=dict)
    # Pairs that would be selected if their images could be read, by reason. The next in rank are selected in their
    # place; with ``size=all`` they are left out. `selection.tolerate` bounds them.
    lost: dict[str, int] = field(default_factory=dict)
