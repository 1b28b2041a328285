"""Uid list: a selection that somebody else has published."""

import hashlib
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv
import pyarrow.parquet as pq
import torch

from benchmark.core.batch import Batch
from benchmark.core.errors import UserError
from benchmark.core.uids import UID_DTYPE, UidArray, encode_uid_column, read_subset, sort_uids
from filters.base import Filter, Scores

UID = "uid"
SUFFIXES = (".npy", ".parquet", ".csv", ".txt")


class UidList(Filter):
    """1 for the samples whose uid the file has, however often; NaN for all others.

    Args:
        path: DataComp's subset file (``.npy``, sorted ``u8,u8``); or uids of 32 hex characters, in the column ``uid``
            of a ``.parquet`` or ``.csv``, or in a ``.txt``, one a line.
    """

    needs = frozenset({"text"})
    batch_size = 65536
    light = True

    def __init__(self, path: str) -> None:
        self.path = str(path)
        self._uids: UidArray = np.empty(0, UID_DTYPE)

    def identity(self) -> dict[str, Any]:
        """Name the file by its content: the same uids in another place are the same filter."""
        with self._file().open("rb") as file:
            return super().identity() | {"path": hashlib.file_digest(file, "sha256").hexdigest()}

    def setup(self, device: torch.device) -> None:
        """Read the file. Raises `UserError` when it is missing, unreadable, empty, or holds something else."""
        path = self._file()
        self._uids = read_subset(path) if path.suffix == ".npy" else _read_hex(path)
        if not len(self._uids):
            raise UserError(f"{path} lists no uid; give a file with the uids to keep")

    def score(self, batch: Batch) -> Scores:
        """Return scores of shape (n,), 1 or NaN."""
        places = np.minimum(np.searchsorted(self._uids, batch.uids), len(self._uids) - 1)
        return np.where(self._uids[places] == batch.uids, np.float32(1), np.float32(np.nan))

    def _file(self) -> Path:
        path = Path(self.path).expanduser()
        if not path.is_file() or path.suffix not in SUFFIXES:
            raise UserError(f"filter.path={self.path} is no file of uids; give a {', '.join(SUFFIXES)}")
        return path


def _read_hex(path: Path) -> UidArray:
    """Return the uids of a text file or table, sorted."""
    try:
        if path.suffix == ".parquet":
            column = pq.read_table(path, columns=[UID])[UID]
        else:
            # A plain list has no header.
            names = pa.csv.ReadOptions(column_names=[UID] if path.suffix == ".txt" else None)
            text = pa.csv.ConvertOptions(include_columns=[UID], column_types={UID: pa.string()})
            column = pa.csv.read_csv(path, read_options=names, convert_options=text)[UID]
        uids = encode_uid_column(pc.cast(column, pa.string()))
    except (ValueError, KeyError, NotImplementedError) as error:  # Arrow's are of these kinds
        reason = str(error).split("\n")[0][:200]
        raise UserError(f"{path}: {reason}; give 32 hex characters a sample, in a column {UID}") from None
    return uids[sort_uids(uids)]
