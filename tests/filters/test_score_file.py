import gzip
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import torch

from benchmark.core.batch import Batch
from benchmark.core.errors import UserError
from benchmark.core.uids import encode_uids, make_uid
from filters.score_file import ScoreFile
from tests.pools import numbered_uids

CAPTIONS = ["a dog, asleep", 'so "nice"', "two\nlines", "7"]
UIDS = [make_uid("", caption) for caption in CAPTIONS]


def score_file(path: Path, column: str = "score") -> ScoreFile:
    made = ScoreFile(str(path), column)
    made.setup(torch.device("cpu"))
    return made


def test_by_caption_from_csv(tmp_path: Path) -> None:
    path = tmp_path / "s.csv"
    path.write_text(
        'id,caption,score\n1,"a dog, asleep",0.5\n2,"so ""nice""",\n3,"two\nlines",-2\n4,7,1\n5,7,9\n'
    )
    found = score_file(path).score(Batch(numbered_uids(5), [*CAPTIONS, "unknown"]))
    assert found == pytest.approx([0.5, np.nan, -2, 1, np.nan], nan_ok=True)
    (tmp_path / "s.csv").write_text("text,score\n007,1\n7,2\n")
    assert score_file(tmp_path / "s.csv").score(Batch(numbered_uids(2), ["7", "007"])).tolist() == [2, 1]


@pytest.mark.parametrize("suffix", ["csv", "parquet"])
def test_by_uid_whatever_the_caption(tmp_path: Path, suffix: str) -> None:
    path = tmp_path / f"s.{suffix}"
    uids = [UIDS[2], UIDS[0].upper(), "f" * 32, UIDS[2], "0" * 32]
    table = pa.table({"uid": uids, "text": ["x"] * 5, "score": [3, 1, 7, 4, 8]})
    if suffix == "csv":
        pa.csv.write_csv(table, path)
    else:
        pq.write_table(table, path)
    found = score_file(path).score(Batch(encode_uids([*UIDS, "f" * 32, "0" * 32]), ["x"] * 6))
    assert found == pytest.approx([1, np.nan, 3, np.nan, 7, 8], nan_ok=True)


def scores_of(path: Path) -> list[float]:
    return score_file(path).score(Batch(encode_uids(UIDS), CAPTIONS)).tolist()


def test_integers_keep_their_order_beyond_float32(tmp_path: Path) -> None:
    values = [2**24, 2**24 + 1, None, 2**53]
    table = pa.table({"uid": UIDS, "score": pa.array(values, pa.int64())})
    path = tmp_path / "s.csv"
    pa.csv.write_csv(table, path)
    assert scores_of(path) == pytest.approx([2**24, 2**24 + 1, np.nan, 2**53], abs=0, nan_ok=True)
    table = table.set_column(1, "score", pa.array([*values[:3], 2**53 + 1], pa.int64()))
    pa.csv.write_csv(table, path)
    with pytest.raises(
        UserError, match=r"filter\.column=score .* holds 9007199254740993, .* divide them all"
    ):
        score_file(path)


def test_fractions_may_follow_a_megabyte_of_integers(tmp_path: Path) -> None:
    rows = [f"{number:032x},1\n" for number in range(40_000)]  # types are guessed from the first megabyte
    (tmp_path / "s.csv").write_text("uid,score\n" + "".join(rows) + f"{UIDS[1]},0.25\n")
    assert scores_of(tmp_path / "s.csv") == pytest.approx([np.nan, 0.25, np.nan, np.nan], nan_ok=True)


def test_a_byte_order_mark_and_gzip_change_nothing(tmp_path: Path) -> None:
    text = b"\xef\xbb\xbfuid,score\n" + f"{UIDS[1]},0.5\n".encode()
    (tmp_path / "marked.csv").write_bytes(text)
    (tmp_path / "plain.csv").write_bytes(gzip.compress(text))
    (tmp_path / "named.csv.gz").write_bytes(gzip.compress(text))
    for path in tmp_path.iterdir():
        assert scores_of(path) == pytest.approx([np.nan, 0.5, np.nan, np.nan], nan_ok=True)


def test_files_without_rows_or_scores_score_nothing(tmp_path: Path) -> None:
    schema = pa.schema([("uid", pa.string()), ("score", pa.float64())])
    for number, table in enumerate(({"uid": [], "score": []}, {"uid": UIDS, "score": [None] * 4})):
        pq.write_table(pa.table(table, schema=schema), tmp_path / f"{number}.parquet")
        assert np.isnan(scores_of(tmp_path / f"{number}.parquet")).all()
