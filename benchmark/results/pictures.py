"""Thumbnails beside a result: pairs that a filter ranks first, around its threshold and last; evaluation images."""

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from benchmark.core.paths import atomic_write

if TYPE_CHECKING:
    import pyarrow as pa

GALLERY, EXAMPLES = "gallery.parquet", "examples.parquet"
Place = Literal["top", "kept", "dropped", "bottom"]


@dataclass(frozen=True)
class GalleryPair:
    """A pair of the pool at one place of a filter's ranking.

    Args:
        place: the best scores, those just above and just below the threshold, or the lowest.
        uid: the sample's uid.
        caption: its caption, at most `CAPTION_CHARACTERS` of it.
        score: its score.
        thumbnail: a JPEG, empty where the image cannot be had.
    """

    place: Place
    uid: str
    caption: str
    score: float
    thumbnail: bytes


@dataclass(frozen=True)
class Example:
    """An evaluation image whose generated captions the report shows side by side.

    Args:
        evaluation: name of the evaluation set.
        image: id of the image, as in ``captions_<set>.json``.
        references: its reference captions.
        thumbnail: a JPEG.
    """

    evaluation: str
    image: str
    references: tuple[str, ...]
    thumbnail: bytes


CAPTION_CHARACTERS = 300


def write_gallery(folder: Path, pairs: Sequence[GalleryPair]) -> None:
    """Write ``gallery.parquet`` in the folder of a run."""
    import pyarrow as pa  # here and below: a report of runs without pictures needs none

    fields = {"place": pa.string(), "uid": pa.string(), "caption": pa.string()}
    _write(folder / GALLERY, pairs, fields | {"score": pa.float64(), "thumbnail": pa.binary()})


def read_gallery(folder: Path) -> list[GalleryPair]:
    """Read ``gallery.parquet`` in the folder of a run; none where there is no such file."""
    return [GalleryPair(**row) for row in _read(folder / GALLERY)]


def write_examples(folder: Path, examples: Sequence[Example]) -> None:
    """Write ``examples.parquet`` in the folder of a run."""
    import pyarrow as pa

    fields = {"evaluation": pa.string(), "image": pa.string(), "references": pa.list_(pa.string())}
    _write(folder / EXAMPLES, examples, fields | {"thumbnail": pa.binary()})


def read_examples(folder: Path) -> list[Example]:
    """Read ``examples.parquet`` in the folder of a run; none where there is no such file."""
    return [Example(**row | {"references": tuple(row["references"])}) for row in _read(folder / EXAMPLES)]


def _read(path: Path) -> list[dict[str, Any]]:
    """Return the rows of a parquet; none where there is no such file."""
    if not path.is_file():
        return []
    import pyarrow.parquet as pq

    with pq.ParquetFile(path, page_checksum_verification=True) as file:  # pq.read_table would import pandas
        rows: list[dict[str, Any]] = file.read().to_pylist()
    return rows


def _write(path: Path, rows: Sequence[GalleryPair | Example], fields: "dict[str, pa.DataType]") -> None:
    import pyarrow as pa
    import pyarrow.parquet as pq

    schema = pa.schema(list(fields.items()))
    with atomic_write(path) as temporary:
        pq.write_table(
            pa.Table.from_pylist([asdict(row) for row in rows], schema), temporary, write_page_checksum=True
        )
