"""Statistics of the pairs that a filter keeps, next to the statistics of the pool, as a run leaves them on disk."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path

from pydantic import TypeAdapter

from benchmark.core.paths import write_text
from benchmark.core.records import json_text

FILE = "selection.json"


@dataclass(frozen=True)
class Histogram:
    """Pairs of the pool, and the kept ones, in n bins with n + 1 edges; the outer bins include pairs beyond."""

    edges: tuple[float, ...]
    pool: tuple[int, ...]
    kept: tuple[int, ...]


@dataclass(frozen=True)
class Fractions:
    """How frequent a value is among pairs of the pool, and among kept pairs, from 0 to 1."""

    pool: float
    kept: float


@dataclass(frozen=True)
class SelectionSummary:
    """The kept pairs next to the pool."""

    scores: Histogram  # histogram of all scores
    # Pairs of the pool, and kept pairs, that everything below `scores` was counted on.
    sampled: tuple[int, int]
    # By what is counted, e.g. ``words per caption``, ``image side (pixels)``.
    histograms: Mapping[str, Histogram]
    # Fractions by property, e.g. ``language``, then by its value.
    shares: Mapping[str, Mapping[str, Fractions]]
    # Fractions of captions with a word, for the words that the selection changes most.
    words: Mapping[str, Fractions]


_ADAPTER = TypeAdapter(SelectionSummary)


def write_selection_summary(folder: Path, summary: SelectionSummary) -> None:
    """Write ``selection.json`` in the folder of a run."""
    write_text(folder / FILE, json_text(asdict(summary)))


def read_selection_summary(path: Path) -> SelectionSummary:
    """Read a file that `write_selection_summary` wrote."""
    return _ADAPTER.validate_json(path.read_bytes())
