"""The record of a selection: its inputs, counts and files."""

from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True)
class Manifest:
    """Describes subset files: the pool, filter, selector and size that made them, and drop counts.

    `files` names the subset file of each epoch; `distinct` counts the samples that are in at least one of them. Of
    `tied` samples whose score is the threshold, `tied_kept` are selected: the first by `seed`. The
    `threshold` is None if it is infinite. `lost` counts by reason the selected samples that cannot be read,
    known once they are read; `selection.tolerate` bounds them.
    """

    pool: str
    filter: str
    config: dict[str, Any]
    k: int
    seed: int
    threshold: float | None
    scored: int
    tied: int
    tied_kept: int
    drops: dict[str, int]
    sha256: str
    distinct: int
    files: list[str]
    selector: str
    selector_config: dict[str, Any]
    versions: dict[str, str] = field(default_factory=dict)
    lost: dict[str, int] = field(default_factory=dict)

    @property
    def readable(self) -> int:
        """How many of the `distinct` samples can be read."""
        return self.distinct - sum(self.lost.values())
