"""Score file: scores computed by another program, read from a CSV or parquet file."""

import hashlib
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv
import pyarrow.parquet as pq
import torch

from benchmark.core.batch import Batch
from benchmark.core.errors import UserError, did_you_mean
from benchmark.core.uids import UidArray, encode_uid_column, sort_uids
from filters.base import Filter, Scores

UID = "uid"
TEXT_COLUMNS = ("caption", "text", "TEXT")


class ScoreFile(Filter):
    """Score looked up by uid, or by caption in a file without uids; NaN for missing samples.

    Of several rows with the same uid or caption, the first counts.

    Args:
        path: path of a ``.csv`` or ``.parquet`` file with a column ``uid``, ``caption`` or ``text``.
        column: name of the numeric column with the scores.
    """

    needs = frozenset({"text"})
    batch_size = 65536
    light = True

    def __init__(self, path: str, column: str) -> None:
        self.path = str(path)
        self.column = column
        self._uids: UidArray | None = None
        self._scores: npt.NDArray[np.float32] = np.empty(0, np.float32)
        self._by_caption: dict[str, float] = {}

    def identity(self) -> dict[str, Any]:
        """Identify the file by its content, wherever it lies."""
        with self._file().open("rb") as file:
            return super().identity() | {"path": hashlib.file_digest(file, "sha256").hexdigest()}

    def setup(self, device: torch.device) -> None:
        """Read the file. Raises `UserError` when it is missing, unreadable or lacks a column."""
        path = self._file()
        names = _columns(path)
        key = next((name for name in (UID, *TEXT_COLUMNS) if name in names), None)
        if key is None:
            raise UserError(
                f"filter.path={self.path} must have a column uid or one of {', '.join(TEXT_COLUMNS)}"
            )
        if self.column not in names:
            raise UserError(
                f"filter.column={self.column} is not in {path}; {did_you_mean(self.column, names)}"
            )
        table = _read(path, [key, self.column])
        scores = table[self.column]
        if not (pa.types.is_integer(scores.type) or pa.types.is_floating(scores.type)):
            raise UserError(f"filter.column={self.column} of {path} must be numeric, not {scores.type}")
        values = pc.fill_null(pc.cast(scores, pa.float32()), float("nan")).to_numpy()
        if key == UID:
            self._by_uid(path, table[UID], values)
        else:
            captions = table[key].to_pylist()
            # Reversed, so that of equal captions the first one wins.
            self._by_caption = dict(zip(reversed(captions), values[::-1].tolist(), strict=True))

    def _by_uid(self, path: Path, column: pa.ChunkedArray, values: npt.NDArray[np.float32]) -> None:
        try:
            uids = encode_uid_column(pc.cast(column, pa.string()))
        except ValueError as error:
            raise UserError(f"{path}: {error}; uids are 32 hex characters") from None
        order = sort_uids(uids)  # stable: of equal uids the first one wins
        self._uids, self._scores = uids[order], values[order]

    def score(self, batch: Batch) -> Scores:
        """Return the file's scores of shape (n,)."""
        if self._uids is None:
            return np.array([self._by_caption.get(text, np.nan) for text in batch.texts], np.float32)
        positions = np.searchsorted(self._uids, batch.uids)
        listed = np.zeros(len(batch), bool)
        inside = positions < len(self._uids)
        listed[inside] = self._uids[positions[inside]] == batch.uids[inside]
        scores = np.full(len(batch), np.nan, np.float32)
        scores[listed] = self._scores[positions[listed]]
        return scores

    def _file(self) -> Path:
        path = Path(self.path).expanduser()
        if not path.is_file():
            raise UserError(f"filter.path={self.path} not found; give a .csv or .parquet file of scores")
        return path


_MULTILINE = pa.csv.ParseOptions(newlines_in_values=True)


def _columns(path: Path) -> list[str]:
    try:
        if path.suffix == ".parquet":
            return list(pq.read_schema(path).names)
        with pa.csv.open_csv(path, parse_options=_MULTILINE) as reader:
            return list(reader.schema.names)
    except pa.ArrowInvalid as error:
        raise UserError(f"{path} cannot be read: {_first_line(error)}") from None


def _read(path: Path, columns: list[str]) -> pa.Table:
    try:
        if path.suffix == ".parquet":
            return pq.read_table(path, columns=columns)
        # Keys are text, even when all of them look like numbers.
        types = {name: pa.string() for name in columns[:1]}
        convert = pa.csv.ConvertOptions(include_columns=columns, column_types=types)
        return pa.csv.read_csv(path, parse_options=_MULTILINE, convert_options=convert)
    except pa.ArrowInvalid as error:
        raise UserError(f"{path} cannot be read: {_first_line(error)}") from None


def _first_line(error: Exception) -> str:
    return str(error).split("\n")[0][:200]
