from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import torch

from benchmark.core.batch import Batch
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
