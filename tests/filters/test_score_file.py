import gzip
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import torch

from benchmark.core.batch import Batch
from benchmark.core.errors import UserError
from benchmark.core.uids import decode_uids, encode_uids, make_uid
from benchmark.engine.local import LocalEngine
from benchmark.pool.pool import Pool
from benchmark.scoring.score_folder import score_folder
from benchmark.scoring.score_pool import score_pool
from filters.base import Filter, standardize
from filters.random import Random
from filters.score_file import ScoreFile
from filters.uid_list import UidList
from tests.pools import numbered_uids, rows, write_metadata

CAPTIONS = ["a dog, asleep", 'so "nice"', "two\nlines", "7"]
UIDS = [make_uid("", caption) for caption in CAPTIONS]


def score_file(path: Path, column: str = "score") -> ScoreFile:
    made = ScoreFile(str(path), column)
    made.setup(torch.device("cpu"))
    return made


def test_by_caption_from_csv(tmp_path: Path) -> None:
    path = tmp_path / "s.csv"
    path.write_text(
        'id,caption,score\n1,"a dog, asleep",0.5\n2,"so ""nice""",\n3,"two\nlines",-2\n4,7,1\n5,7,1\n'
    )
    found = score_file(path).score(Batch(numbered_uids(5), [*CAPTIONS, "unknown"]))
    assert found == pytest.approx([0.5, np.nan, -2, 1, np.nan], nan_ok=True)
    (tmp_path / "s.csv").write_text("text,score\n007,1\n7,2\n")
    assert score_file(tmp_path / "s.csv").score(Batch(numbered_uids(2), ["7", "007"])).tolist() == [2, 1]


@pytest.mark.parametrize("suffix", ["csv", "parquet"])
def test_by_uid_whatever_the_caption(tmp_path: Path, suffix: str) -> None:
    path = tmp_path / f"s.{suffix}"
    uids = [UIDS[2], UIDS[0].upper(), "f" * 32, UIDS[2], "0" * 32]
    table = pa.table({"uid": uids, "text": ["x"] * 5, "score": [3, 1, 7, 3, 8]})
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
    with pytest.raises(UserError, match=r"column score of .* holds 9007199254740993, .* divide them all"):
        scores_of(path)


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


def pool_of(folder: Path, count: int = 6) -> Pool:
    """A pool of metadata with uids, urls and captions."""
    write_metadata(folder / "pool" / "0.parquet", rows(count))
    return Pool("p", str(folder / "pool"))


def scored(pool: Pool, scorer: Filter) -> list[float]:
    """The scores of the pairs of a pool, in the order of its rows."""
    table = score_pool(pool, scorer, LocalEngine("cpu", 1))
    known = dict(zip(decode_uids(table.uids), table.scores.tolist(), strict=True))
    return [known[row.uid] for row in rows(len(known))]


def test_coverage_is_told_and_bounded(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    pool, path = pool_of(tmp_path), str(tmp_path / "s.parquet")
    table = {"url": [f"{row.url} " for row in rows(3)], "score": [0.5, None, np.inf]}
    pq.write_table(pa.table(table), path)
    caplog.set_level("INFO")
    assert scored(pool, ScoreFile(path, "score")) == pytest.approx([0.5, *[np.nan] * 5], nan_ok=True)
    assert "16.7% of the 6 pairs have a score in filter.path=" in caplog.text
    assert "(by url); 83.3% have none and are never kept" in caplog.text
    with pytest.raises(UserError, match=r"16\.7% of the 6 pairs .*; filter\.coverage=0\.2 demands more"):
        scored(pool, ScoreFile(path, "score", coverage=0.2))
    assert scored(pool, UidList(path))[:3] == [1, 1, 1]
    assert "the pool has 100.0% of the 3 rows of filter.path=" in caplog.text


def test_rows_of_another_pool_are_an_error_with_examples(tmp_path: Path) -> None:
    pool = pool_of(tmp_path)
    (tmp_path / "other.csv").write_text(f"uid,url,score\n{'0' * 32},{rows(1)[0].url},1\n")
    message = (
        rf"by uid, pairs such as '{rows(1)[0].uid}' were looked for among rows such as '0{{32}}'.*filter\.key"
    )
    for scorer in (ScoreFile(str(tmp_path / "other.csv"), "score"), UidList(str(tmp_path / "other.csv"))):
        with pytest.raises(UserError, match=message):
            scored(pool, scorer)
    assert scored(pool, ScoreFile(str(tmp_path / "other.csv"), "score", key="url"))[0] == 1


def test_columns_are_added_after_standardising(tmp_path: Path) -> None:
    """Over the pairs of the pool: rows of other pairs do not count."""
    pool = pool_of(tmp_path)
    uids = [*(row.uid for row in rows(4)), "0" * 32]
    table = {"uid": uids, "a": [1, 2, 3, None, 99], "b": [10, 10, 40, 10, -99], "c": [7] * 5}
    pq.write_table(pa.table(table), tmp_path / "s.parquet")
    path = str(tmp_path / "s.parquet")
    a, b = np.array([1, 2, 3]), np.array([10, 10, 40])
    mean, deviation = 17.5, np.std([10, 10, 40, 10])
    expected = (a - 2) / np.std(a) + (b - mean) / deviation
    assert scored(pool, ScoreFile(path, ["a", "b", "c"]))[:3] == pytest.approx(expected)
    weighted = scored(pool, ScoreFile(path, ["a", "b"], weights=[0.5, -2]))
    assert weighted[:3] == pytest.approx((a - 2) / np.std(a) / 2 - 2 * (b - mean) / deviation)
    assert np.isnan(weighted[3:]).all()
    with pytest.raises(UserError, match=r"filter\.weights=\[1\.0\] must be one number per column"):
        ScoreFile(path, ["a", "b"], weights=[1])
    assert np.isnan(standardize(np.array([np.nan, np.nan]))).all()


def test_our_own_parts_are_read_and_select_the_same(tmp_path: Path) -> None:
    pool = pool_of(tmp_path, 40)
    table = score_pool(pool, Random(1), LocalEngine("cpu", 1))
    again = score_pool(pool, ScoreFile(str(score_folder(pool, Random(1))), "score"), LocalEngine("cpu", 1))
    assert np.array_equal(again.uids, table.uids)
    assert again.scores.tolist() == table.scores.tolist()


def test_a_pool_that_grows_is_looked_up_again(tmp_path: Path) -> None:
    pool, path = pool_of(tmp_path, 3), str(tmp_path / "s.parquet")
    pq.write_table(pa.table({"uid": [row.uid for row in rows(6)], "a": range(6), "b": [0] * 6}), path)
    before = scored(pool, ScoreFile(path, ["a", "b"]))
    write_metadata(tmp_path / "pool" / "1.parquet", rows(3, start=3))
    after = scored(Pool("p", pool.url), ScoreFile(path, ["a", "b"]))
    assert before == pytest.approx([-1.224745, 0, 1.224745])
    assert after == pytest.approx((np.arange(6) - 2.5) / np.std(range(6)))
