"""What a run left in its folder beside its result. Every file may be absent; a damaged one is an error."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

from pydantic import BaseModel, TypeAdapter

from benchmark.results.pictures import EXAMPLES, GALLERY, Example, GalleryPair, read_examples, read_gallery
from benchmark.results.results_folders import damage_as_one_line
from benchmark.results.selection_summary import FILE as SUMMARY
from benchmark.results.selection_summary import SelectionSummary, read_selection_summary

T = TypeVar("T")
Losses = list[tuple[float, float]]  # samples seen, loss


class CaptionRow(BaseModel):
    """A row of COCO's results."""

    image_id: int | str
    caption: str


_LOSSES = TypeAdapter(Losses)
_CAPTIONS = TypeAdapter(list[CaptionRow])


@dataclass(frozen=True)
class RunFiles:
    """The files of one run's folder; None stands for a run whose folder is unknown."""

    folder: Path | None

    def summary(self) -> SelectionSummary | None:
        """Return what the run's selection keeps."""
        return self._read(SUMMARY, lambda path: read_selection_summary(path.parent), None)

    def gallery(self) -> list[GalleryPair]:
        """Return pairs of the pool at places of the filter's ranking."""
        return self._read(GALLERY, lambda path: read_gallery(path.parent), [])

    def examples(self) -> list[Example]:
        """Return the evaluation images whose captions are shown."""
        return self._read(EXAMPLES, lambda path: read_examples(path.parent), [])

    def losses(self, model: str) -> Losses:
        """Return the training's loss curve."""
        return self._read(f"{model}/losses.json", lambda path: _LOSSES.validate_json(path.read_bytes()), [])

    def captions(self, model: str, evaluation: str) -> dict[str, str]:
        """Return the generated captions by image."""
        name = f"{model}/captions_{evaluation}.json"
        rows: list[CaptionRow] = self._read(name, lambda path: _CAPTIONS.validate_json(path.read_bytes()), [])
        return {str(row.image_id): row.caption for row in rows}

    def _read(self, name: str, read: Callable[[Path], T], absent: T) -> T:
        """Return what `read` makes of a file; `absent` where there is none, or its name leads out of the folder."""
        inside = not Path(name).is_absolute() and ".." not in Path(name).parts
        if self.folder is None or not inside or not (self.folder / name).is_file():
            return absent
        path = self.folder / name
        with damage_as_one_line(path):
            return read(path)
