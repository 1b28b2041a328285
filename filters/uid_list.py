"""Uid list: a published selection."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet as pq

from benchmark.core.arrow import DAMAGE
from benchmark.core.batch import Batch
from benchmark.core.devices import Device
from benchmark.core.errors import UserError
from benchmark.core.hashes import hash_file
from benchmark.core.paths import user_path
from benchmark.core.requirements import Requirement, look
from benchmark.core.uids import UID_DTYPE, UidArray, encode_uid_column, read_subset, sort_uids
from filters.base import Filter, Scores
from filters.score_file import open_text

UID = "uid"
SUFFIXES = (".npy", ".parquet", ".csv", ".txt")


class UidList(Filter):
    """1 for samples whose uid is in the file, else NaN.

    Args:
        path: path of DataComp's subset file (``.npy``, sorted ``u8,u8``), or of uids as 32 hex characters: in the
            column ``uid`` of a ``.parquet`` or ``.csv``, or one per line in a ``.txt``.
    """

    needs = frozenset[str]()
    batch_size = 65536
    light = True

    def __init__(self, path: str) -> None:
        self.path = str(path)
        self._uids: UidArray = np.empty(0, UID_DTYPE)

    def identity(self) -> dict[str, Any]:
        """Identify the file by its content, not its path."""
        return super().identity() | {"path": hash_file(self._file())}

    def requirements(self) -> Iterator[Requirement]:
        """Yield the file."""
        yield look("filter.path", self._file)

    def setup(self, device: Device) -> None:
        """Read the file. Raises `UserError` when it is missing, unreadable, empty, or not a list of uids."""
        path = self._file()
        self._uids = read_subset(path) if path.suffix == ".npy" else _read_hex(path)
        if not len(self._uids):
            raise UserError(f"filter.path={self.path} is empty; give a file with the uids to keep")

    def score(self, batch: Batch) -> Scores:
        """Return scores of shape (n,), 1 or NaN."""
        positions = np.minimum(np.searchsorted(self._uids, batch.uids), len(self._uids) - 1)
        return np.where(self._uids[positions] == batch.uids, np.float32(1), np.float32(np.nan))

    def _file(self) -> Path:
        path = user_path(self.path)
        if not path.is_file() or path.suffix not in SUFFIXES:
            raise UserError(f"filter.path={self.path} must be a file of uids: a {', '.join(SUFFIXES)}")
        return path


def _read_hex(path: Path) -> UidArray:
    """Return the uids of a text file or table, sorted."""
    try:
        if path.suffix == ".parquet":
            column = pq.read_table(path, columns=[UID], page_checksum_verification=True)[UID]
        else:
            # A .txt file lacks a header.
            names = pa.csv.ReadOptions(column_names=[UID] if path.suffix == ".txt" else None)
            types = pa.csv.ConvertOptions(include_columns=[UID], column_types={UID: pa.string()})
            with open_text(path) as file:
                column = pa.csv.read_csv(file, read_options=names, convert_options=types)[UID]
        uids = encode_uid_column(column)
    except (*DAMAGE, ValueError, KeyError) as error:
        reason = str(error).split("\n")[0][:200]
        raise UserError(
            f"filter.path={path}: {reason}; give one uid per sample, 32 hex characters or a UUID, in a column {UID}"
        ) from None
    return uids[sort_uids(uids)]
