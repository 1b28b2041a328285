"""Score file: scores computed by another program, read from a CSV or parquet file."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet as pq

from benchmark.core.arrow import DAMAGE
from benchmark.core.batch import Batch, model_text
from benchmark.core.devices import Device
from benchmark.core.errors import UserError, did_you_mean
from benchmark.core.exact_numbers import numeric_scores
from benchmark.core.hashes import hash_file
from benchmark.core.paths import user_path
from benchmark.core.requirements import Requirement, look
from benchmark.core.uids import UidIndex, encode_uid_column
from filters.base import Filter, Scores

UID = "uid"
TEXT_COLUMNS = ("caption", "text", "TEXT")


class ScoreFile(Filter):
    """Score looked up by uid, or by caption in a file without uids; NaN for missing samples.

    Of several rows with the same uid or caption, the first counts. Captions are compared by their beginnings, see
    `model_text`. No score is rounded (see `numeric_scores`).

    Args:
        path: path of a ``.parquet`` file, or of a CSV file, which may be compressed by gzip, with a column ``uid``,
            ``caption`` or ``text``.
        column: name of the numeric column with the scores.
    """

    needs = frozenset({"text"})
    batch_size = 65536
    light = True

    def __init__(self, path: str, column: str) -> None:
        self.path = str(path)
        self.column = column
        self._rows: UidIndex | None = None
        self._scores: Scores = np.empty(0)
        self._by_caption: dict[str, float] = {}

    def identity(self) -> dict[str, Any]:
        """Identify the file by its content, not its path."""
        return super().identity() | {"path": hash_file(self._file())}

    def requirements(self) -> Iterator[Requirement]:
        """Yield the file."""
        yield look("filter.path", lambda: self._key_column() and self._file())

    def setup(self, device: Device) -> None:
        """Read the file. Raises `UserError` when it is missing, unreadable or lacks a column."""
        path, key = self._file(), self._key_column()
        keys, self._scores = _read(path, key, self.column)
        if key == UID:
            self._by_uid(path, keys)
        else:
            captions = [caption and model_text(caption) for caption in keys.to_pylist()]
            # Reversed, so that of equal captions the first one wins.
            self._by_caption = dict(zip(reversed(captions), self._scores[::-1].tolist(), strict=True))

    def _key_column(self) -> str:
        """Return the column of uids or captions. Raises `UserError` unless the file has it and the scores' once."""
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
        for name in (key, self.column):
            if names.count(name) > 1:
                raise UserError(f"{path} must have one column {name}, not {names.count(name)}")
        return key

    def _by_uid(self, path: Path, keys: pa.ChunkedArray) -> None:
        try:
            self._rows = UidIndex(
                encode_uid_column(keys)[::-1]
            )  # finds the last of equal uids: here the first wins
        except ValueError as error:
            raise UserError(f"{path}: {error}; uids are 32 hex characters or UUIDs") from None
        self._scores = np.append(self._scores[::-1], self._scores.dtype.type(np.nan))  # for row -1

    def score(self, batch: Batch) -> Scores:
        """Return the file's scores of shape (n,)."""
        if self._rows is None:
            return np.array([self._by_caption.get(text, np.nan) for text in batch.texts], self._scores.dtype)
        return self._scores[self._rows.find(batch.uids)]

    def _file(self) -> Path:
        path = user_path(self.path)
        if not path.is_file():
            raise UserError(f"filter.path={self.path} not found; give a .csv or .parquet file of scores")
        return path


_MULTILINE = pa.csv.ParseOptions(newlines_in_values=True)


@contextmanager
def _explained(path: Path) -> Iterator[None]:
    """Turn what Arrow raises for a broken file, or a column of an unexpected type, into a `UserError`."""
    try:
        yield
    except DAMAGE as error:
        reason = (str(error).splitlines() or [type(error).__name__])[0]
        raise UserError(f"{path} cannot be read: {reason[:200]}") from None


def _columns(path: Path) -> list[str]:
    with _explained(path):
        if path.suffix == ".parquet":
            return list(pq.read_schema(path).names)
        with open_text(path) as file, pa.csv.open_csv(file, parse_options=_MULTILINE) as reader:
            return list(reader.schema.names)


def _read(path: Path, key: str, column: str) -> tuple[pa.ChunkedArray, Scores]:
    """Return the column of uids or captions, and the scores. Raises `UserError` unless they are text and numbers."""
    with _explained(path):
        if path.suffix == ".parquet":
            table = pq.read_table(path, columns=[key, column], page_checksum_verification=True)
        else:
            table = _read_csv(path, key, column)
        keys, scores = table[key].cast(pa.string()), table[column]
        keys.validate(full=True)  # of UTF-8, which a parquet file need not hold
        missing = scores.is_null().to_numpy()
        if pa.types.is_integer(scores.type):
            scores = scores.fill_null(0)  # else NumPy's floats would round the other integers
        values = scores.to_numpy()
    found = numeric_scores(values, f"filter.column={column} of {path}")
    return keys, np.where(missing, found.dtype.type(np.nan), found)


def _read_csv(path: Path, key: str, column: str) -> pa.Table:
    """Read a CSV file. Keys are text, even when all of them look like numbers."""

    def read(types: dict[str, pa.DataType]) -> pa.Table:
        convert = pa.csv.ConvertOptions(include_columns=[key, column], column_types=types)
        with open_text(path) as file:
            return pa.csv.read_csv(file, parse_options=_MULTILINE, convert_options=convert)

    try:
        return read({key: pa.string()})
    except pa.ArrowInvalid:
        # Types follow from the first rows, and integers may be followed by fractions.
        return read({key: pa.string(), column: pa.float64()})


def open_text(path: Path) -> pa.NativeFile:
    """Open a text file, or one compressed by gzip whatever its name is."""
    with path.open("rb") as file:
        compressed = file.read(2) == b"\x1f\x8b"
    return pa.input_stream(str(path), compression="gzip" if compressed else None)
