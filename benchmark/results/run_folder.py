"""The files in the folder of a run: statistics of the kept pairs, thumbnails of pairs and images, captions."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from typing import Any, Literal, TypeVar

from pydantic import TypeAdapter

from benchmark.core.paths import atomic_write, write_text
from benchmark.core.records import json_text
from benchmark.results.results_folders import read_or_leave_out
from downstream.evaluation.captioning import read_coco_results

SUMMARY, GALLERY, EXAMPLES = "selection.json", "gallery.parquet", "examples.parquet"
CAPTION_CHARACTERS = 300
T = TypeVar("T")
Place = Literal["top", "kept", "dropped", "bottom", "passing", "failing"]


@dataclass(frozen=True)
class Histogram:
    """Pairs of the pool, and kept pairs, in n bins with n + 1 edges; the outer bins include pairs beyond."""

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
    # Fractions of captions with a word, for the words that the selection changes most.
    words: Mapping[str, Fractions]


@dataclass(frozen=True)
class GalleryPair:
    """A pair of the pool at one place of a filter's ranking."""

    # "Kept" and "dropped" are next to the threshold. A filter that decides has "passing" pairs, of those kept, and
    # "failing" pairs, outside of its bounds.
    place: Place
    uid: str
    caption: str  # of at most `CAPTION_CHARACTERS`
    score: float
    thumbnail: bytes  # JPEG, empty if the image cannot be read
    kind: str = ""  # planted kind of noise, empty for pools other than the demo


@dataclass(frozen=True)
class Example:
    """An evaluation image that the report shows with all captions: its set, id, references, and a JPEG."""

    evaluation: str
    image: str
    references: tuple[str, ...]
    thumbnail: bytes


Shown = TypeVar("Shown", GalleryPair, Example)


def write_selection_summary(folder: Path, summary: SelectionSummary) -> None:
    """Write ``selection.json`` in the folder of a run."""
    write_text(folder / SUMMARY, json_text(asdict(summary)))


def write_rows(folder: Path, kind: type[Shown], rows: Sequence[Shown]) -> None:
    """Write ``gallery.parquet`` or ``examples.parquet`` in the folder of a run."""
    import pyarrow as pa  # here and below: a report of runs without pictures needs none
    import pyarrow.parquet as pq

    types = {"references": pa.list_(pa.string()), "score": pa.float64(), "thumbnail": pa.binary()}
    schema = pa.schema([(field.name, types.get(field.name, pa.string())) for field in fields(kind)])
    with atomic_write(folder / (GALLERY if kind is GalleryPair else EXAMPLES)) as temporary:
        table = pa.Table.from_pylist([asdict(row) for row in rows], schema)
        pq.write_table(table, temporary, write_page_checksum=True)


@dataclass(frozen=True)
class RunFiles:
    """The files of one run; its folder may be unknown. A file may be absent or damaged: it is left out."""

    folder: Path | None

    def summary(self) -> SelectionSummary | None:
        """Return the statistics of the pairs that the run kept."""
        adapter = TypeAdapter(SelectionSummary)
        return self._read(SUMMARY, lambda path: adapter.validate_json(path.read_bytes()), None)

    def gallery(self) -> list[GalleryPair]:
        """Return pairs of the pool at places of the filter's ranking."""
        return self._read(GALLERY, lambda path: [GalleryPair(**row) for row in _rows(path)], [])

    def examples(self) -> list[Example]:
        """Return the evaluation images that are shown with their captions."""

        def read(path: Path) -> list[Example]:
            return [Example(**row | {"references": tuple(row["references"])}) for row in _rows(path)]

        return self._read(EXAMPLES, read, [])

    def captions(self, model: str, evaluation: str) -> dict[str, str]:
        """Return the generated captions by image."""
        return self._read(f"{model}/captions_{evaluation}.json", read_coco_results, {})

    def _read(self, name: str, read: Callable[[Path], T], absent: T) -> T:
        """Return a file's content; `absent` without such a file, or if its name leads out of the folder."""
        inside = not Path(name).is_absolute() and ".." not in Path(name).parts
        if self.folder is None or not inside or not (self.folder / name).is_file():
            return absent
        return read_or_leave_out(read, self.folder / name, absent)


def _rows(path: Path) -> list[dict[str, Any]]:
    import pyarrow.parquet as pq

    with pq.ParquetFile(path, page_checksum_verification=True) as file:  # pq.read_table would import pandas
        rows: list[dict[str, Any]] = file.read().to_pylist()
    return rows
