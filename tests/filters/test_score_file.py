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
    assert found.dtype == np.float32
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


def test_a_lookup_among_many_equals_a_dictionary(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    uids = [rng.bytes(16).hex() for _ in range(3000)]
    scores = rng.random(3000).astype(np.float32)
    pq.write_table(pa.table({"uid": uids[:2000], "score": scores[:2000]}), tmp_path / "s.parquet")
    known = dict(zip(uids[:2000], scores[:2000], strict=True))
    found = score_file(tmp_path / "s.parquet").score(Batch(encode_uids(uids), [""] * 3000))
    assert np.array_equal(found, [known.get(uid, np.nan) for uid in uids], equal_nan=True)


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


def test_other_scores_are_another_filter(tmp_path: Path) -> None:
    (tmp_path / "s.csv").write_text("caption,score\na,1\n")
    first = ScoreFile(str(tmp_path / "s.csv"), "score").key()
    (tmp_path / "s.csv").write_text("caption,score\na,2\n")
    assert ScoreFile(str(tmp_path / "s.csv"), "score").key() != first
