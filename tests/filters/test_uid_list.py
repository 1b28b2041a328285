from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import torch

from benchmark.core.batch import Batch
from benchmark.core.errors import UserError
from benchmark.core.uids import encode_uids, make_uid, write_subset
from filters.uid_list import UidList

UIDS = [make_uid("", str(number)) for number in range(50)]
LISTED = [*UIDS[30:], UIDS[40]]  # one stands twice


def write(path: Path, uids: list[str]) -> Path:
    if path.suffix == ".npy":
        write_subset(path, encode_uids(uids))
    elif path.suffix == ".parquet":
        pq.write_table(pa.table({"score": range(len(uids)), "uid": uids}), path)
    elif path.suffix == ".csv":
        path.write_text("url,uid\n" + "".join(f"http://example.org,{uid}\n" for uid in uids))
    else:
        path.write_text("\r\n".join(uid.upper() for uid in uids) + "\r\n\r\n")
    return path


def parquet(columns: dict[str, list]) -> bytes:
    sink = pa.BufferOutputStream()
    pq.write_table(pa.table(columns), sink)
    return sink.getvalue().to_pybytes()


def uid_list(path: Path) -> UidList:
    made = UidList(str(path))
    made.setup(torch.device("cpu"))
    return made


@pytest.mark.parametrize("suffix", [".npy", ".parquet", ".csv", ".txt"])
def test_listed_uids_are_kept_and_no_others(tmp_path: Path, suffix: str) -> None:
    scores = uid_list(write(tmp_path / f"list{suffix}", LISTED)).score(Batch(encode_uids(UIDS), []))
    assert scores.dtype == np.float32
    assert np.array_equal(scores, [np.nan] * 30 + [1.0] * 20, equal_nan=True)
    halves = [UIDS[30][:16] + UIDS[31][16:], UIDS[31][:16] + UIDS[30][16:]]  # both halves of a uid count
    others = Batch(encode_uids(["0" * 32, "f" * 32, *halves]), [])
    assert np.isnan(uid_list(tmp_path / f"list{suffix}").score(others)).all()


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("list.txt", b"", "in a column uid"),
        ("list.txt", b"0123\n", "32 characters long"),
        ("list.txt", b"z" * 32 + b"\n", "not hexadecimal"),
        ("list.csv", b"id\n" + b"0" * 32 + b"\n", "uid"),
        ("list.csv", b"uid\n", "is empty"),
        ("list.csv", b"uid,x\n1\n", "in a column uid"),
        ("list.parquet", b"PAR1", "in a column uid"),
        ("list.parquet", parquet({"id": UIDS}), r"FieldRef\.Name\(uid\).* in a column uid"),
        ("list.parquet", parquet({"uid": [[1, 2]]}), "in a column uid"),
        ("list.npy", b"nonsense", "not a numpy array"),
        ("list.json", b"[]", r"must be a file of uids: a \.npy, \.parquet, \.csv, \.txt"),
    ],
)
def test_broken_lists_say_what_is_wrong(tmp_path: Path, name: str, content: bytes, message: str) -> None:
    (tmp_path / name).write_bytes(content)
    with pytest.raises(UserError, match=message) as error:
        uid_list(tmp_path / name)
    assert "\n" not in str(error.value)
