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


def test_captions_that_all_look_like_numbers(tmp_path: Path) -> None:
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


def test_an_empty_file_of_uids(tmp_path: Path) -> None:
    schema = pa.schema([("uid", pa.string()), ("score", pa.float64())])
    pq.write_table(pa.table({"uid": [], "score": []}, schema=schema), tmp_path / "s.parquet")
    assert np.isnan(score_file(tmp_path / "s.parquet").score(Batch(encode_uids(UIDS), CAPTIONS))).all()


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("caption,scores\na,1\n", "filter.column=score is not in .*; did you mean 'scores'"),
        ("name,score\na,1\n", "must have a column uid or one of caption, text"),
        ("caption,score\na,high\n", "filter.column=score of .* must be numeric"),
        ("uid,score\nabc,1\n", "uids are 32 hex characters"),
        ("", "cannot be read"),
        ("caption,score\na,1,2\n", "cannot be read"),
    ],
)
def test_broken_files_are_told_in_one_line(tmp_path: Path, content: str, message: str) -> None:
    (tmp_path / "s.csv").write_text(content)
    with pytest.raises(UserError, match=message) as error:
        score_file(tmp_path / "s.csv")
    assert "\n" not in str(error.value)


def test_files_that_are_none(tmp_path: Path) -> None:
    with pytest.raises(UserError, match=r"filter\.path=.* not found"):
        score_file(tmp_path / "absent.csv")
    (tmp_path / "s.parquet").write_text("caption,score\n")
    with pytest.raises(UserError, match="cannot be read"):
        score_file(tmp_path / "s.parquet")


def scores_of(path: Path) -> list[float]:
    return score_file(path).score(Batch(encode_uids(UIDS), CAPTIONS)).tolist()


def write(path: Path, scores: pa.Array) -> Path:
    pq.write_table(pa.table({"uid": UIDS, "score": scores}), path)
    return path


@pytest.mark.parametrize("suffix", ["csv", "parquet"])
def test_integers_keep_their_order_beyond_float32(tmp_path: Path, suffix: str) -> None:
    values = [2**24, 2**24 + 1, None, 2**53]
    table = pa.table({"uid": UIDS, "score": pa.array(values, pa.int64())})
    path = tmp_path / f"s.{suffix}"
    (pa.csv.write_csv if suffix == "csv" else pq.write_table)(table, path)
    assert scores_of(path) == pytest.approx([2**24, 2**24 + 1, np.nan, 2**53], abs=0, nan_ok=True)
    table = table.set_column(1, "score", pa.array([*values[:3], 2**53 + 1], pa.int64()))
    (pa.csv.write_csv if suffix == "csv" else pq.write_table)(table, path)
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


@pytest.mark.parametrize("keys", [[["a"]] * 4, [b"\xff\xfe"] * 4, [{"a": 1}] * 4])
def test_keys_that_are_no_text_are_told(tmp_path: Path, keys: list[object]) -> None:
    pq.write_table(pa.table({"caption": keys, "score": [1.0] * 4}), tmp_path / "s.parquet")
    with pytest.raises(UserError, match="cannot be read"):
        score_file(tmp_path / "s.parquet")


def test_a_file_without_one_score_scores_nothing(tmp_path: Path) -> None:
    assert np.isnan(scores_of(write(tmp_path / "s.parquet", pa.nulls(4)))).all()


@pytest.mark.parametrize("compression", ["snappy", "zstd", "none"])
def test_corrupt_pages_are_told_in_one_line(tmp_path: Path, compression: str) -> None:
    rng = np.random.default_rng(0)
    table = pa.table({"uid": [rng.bytes(16).hex() for _ in range(3000)], "score": rng.random(3000)})
    path = tmp_path / "s.parquet"
    pq.write_table(table, path, compression=compression, write_page_checksum=True)
    data = bytearray(path.read_bytes())
    data[len(data) // 2] ^= 0xFF
    path.write_bytes(data)
    with pytest.raises(UserError, match="cannot be read") as error:
        score_file(path)
    assert "\n" not in str(error.value)


@pytest.mark.parametrize(
    "content",
    [
        b"\x1f\x8b broken", gzip.compress(b"uid,score\n" * 99)[:-9], "uid,score\na,1\n".encode("utf-16"), b"\xff\n\n",
        b"PAR1", b"uid,score,score\n" + b"0" * 32 + b",1,2\n",
    ],
    ids=["broken gzip", "cut gzip", "utf-16", "not utf-8", "cut parquet", "doubled column"],
)  # fmt: skip
@pytest.mark.parametrize("name", ["s.csv", "s.parquet", "s.csv.gz"])
def test_content_of_another_kind_is_told_in_one_line(tmp_path: Path, content: bytes, name: str) -> None:
    (tmp_path / name).write_bytes(content)
    with pytest.raises(UserError) as error:
        score_file(tmp_path / name)
    assert "\n" not in str(error.value)


def test_other_scores_are_another_filter(tmp_path: Path) -> None:
    (tmp_path / "s.csv").write_text("caption,score\na,1\n")
    first = ScoreFile(str(tmp_path / "s.csv"), "score").key()
    (tmp_path / "s.csv").write_text("caption,score\na,2\n")
    assert ScoreFile(str(tmp_path / "s.csv"), "score").key() != first
