"""Columns of texts in a user's file: comma or tab separated, or Parquet."""

import csv
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, TextIO

import pyarrow as pa
import pyarrow.parquet as pq

from benchmark.core.errors import UserError
from benchmark.core.paths import refuse_pointers

BATCH = 10_000  # rows of Parquet in memory
COMMAS: Mapping[str, Any] = {"delimiter": ","}
TABS: Mapping[str, Any] = {"delimiter": "\t"}
UNQUOTED_TABS: Mapping[str, Any] = {"delimiter": "\t", "quoting": csv.QUOTE_NONE}


@dataclass(frozen=True)
class TextFile:
    """A file with named columns."""

    setting: str  # the setting that names the file, for messages
    path: Path
    separated: Mapping[str, Any] | None  # how `csv` splits the lines; None for Parquet
    # In lines, "replace" bytes that are not UTF-8 by U+FFFD, or "strict": refuse them and broken quotes.
    errors: Literal["replace", "strict"] = "replace"

    def columns(self) -> Sequence[str]:
        """Return the names of the columns. Raises `UserError` if the file is missing or cannot be read."""
        if not self.path.is_file():
            raise UserError(f"{self.setting}={self.path} does not exist; give the path of a file")
        refuse_pointers([self.path])
        with self._damage_as_one_line():
            if self.separated is None:
                return list(pq.read_schema(self.path).names)
            with self._open() as file:
                return csv.DictReader(file, **self.separated).fieldnames or ()

    def rows(self, *names: str) -> Iterator[tuple[str, ...]]:
        """Yield the texts of some columns, empty if a row has none.

        Raises `UserError` if the file is missing, cannot be read, lacks a column, or has other values than texts in
        it.
        """
        present = self.columns()
        for name in names:
            if name not in present:
                raise self.error(f"must have a column {name!r}; it has {', '.join(present)[:200] or 'none'}")
        with self._damage_as_one_line():
            if self.separated is None:
                yield from self._parquet_rows(names)
                return
            with self._open() as file:
                strict = self.errors == "strict"
                for row in csv.DictReader(file, restval="", strict=strict, **self.separated):
                    yield tuple(row[name] for name in names)

    def _open(self) -> TextIO:
        return self.path.open(encoding="utf-8-sig", errors=self.errors, newline="")

    def _parquet_rows(self, names: Sequence[str]) -> Iterator[tuple[str, ...]]:
        with pq.ParquetFile(self.path) as file:
            for name in names:
                kind = file.schema_arrow.field(name).type
                if not (pa.types.is_string(kind) or pa.types.is_large_string(kind)):
                    raise self.error(f"must hold texts in column {name!r}; it holds {kind}")
            for batch in file.iter_batches(BATCH, columns=list(names)):
                # As bytes: pyarrow does not check UTF-8 when it reads, and fails when it decodes invalid text.
                columns = [batch.column(name).cast(pa.large_binary()).to_pylist() for name in names]
                for values in zip(*columns, strict=True):
                    yield tuple((value or b"").decode("utf-8", "replace") for value in values)

    def error(self, message: str) -> UserError:
        """Return an error that begins with the setting and the path."""
        return UserError(f"{self.setting}={self.path} {message}")

    @contextmanager
    def _damage_as_one_line(self) -> Iterator[None]:
        try:
            yield
        except (OSError, csv.Error, UnicodeDecodeError, pa.ArrowException) as error:
            raise self.error(f"cannot be read: {str(error).splitlines()[0][:200]}") from None
