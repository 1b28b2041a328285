"""Metadata, columns, score files and arrays of the web: told in one line, or counted, and never another score."""

import csv
import gzip
from collections import Counter
from contextlib import suppress
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import torch

from benchmark.core.errors import UserError
from benchmark.core.uids import UidIndex, decode_uids, encode_uids, read_subset
from benchmark.pool import parquet_reader
from benchmark.pool.other_captions import CaptionSources
from benchmark.pool.parquet_reader import read_metadata, read_rows
from benchmark.pool.pool import Pool
from filters.basic import Basic
from filters.column import Column
from filters.lexicon import Lexicon
from filters.score_file import ScoreFile
from filters.uid_list import UidList
from tests.command_line import Run, assert_one_line
from tests.hostile.hostile_tables import (
    COLUMNS,
    FOUR,
    GOOD_UIDS,
    METADATA,
    NPY,
    NSFW,
    ODD_UIDS,
    damaged_tables,
    table,
)  # fmt: skip

NEEDS, TEXT = frozenset({"q"}), frozenset({"text"})


def write_pool(folder: Path, second: pa.Table) -> Path:
    """A good file and an odd one; returns the latter."""
    (folder / "metadata").mkdir(parents=True)
    pq.write_table(table(uid=GOOD_UIDS), folder / "metadata" / "0.parquet")
    pq.write_table(second, folder / "metadata" / "1.parquet")
    return folder / "metadata" / "1.parquet"


def read(folder: Path) -> tuple[int, dict[str, int]]:
    """How many pairs of a pool are read, and why others are not."""
    pool, drops = Pool("p", str(folder), nsfw=NSFW), Counter[str]()
    batches = [batch for shard in pool.shards(TEXT) for batch in pool.batches(shard, TEXT, 3, drops)]
    return sum(map(len, batches)), +drops


@pytest.mark.parametrize("name", METADATA)
def test_no_pair_of_the_metadata_vanishes(tmp_path: Path, name: str) -> None:
    columns, drops = METADATA[name]
    path = write_pool(tmp_path, table(**columns))
    assert read(tmp_path) == (8 - sum(drops.values()), drops)
    # The other ways to read it.
    index = UidIndex(encode_uids(ODD_UIDS))
    pool = Pool("p", str(tmp_path))
    assert len(pool.captions(encode_uids(ODD_UIDS), pool.metadata)) == len(ODD_UIDS)
    assert pool.metadata_numbers(encode_uids(ODD_UIDS), ("q",)).shape == (len(ODD_UIDS), 1)
    assert all(len(rows) == len(t) for rows, t in read_rows(str(path), {}, index, frozenset(), NSFW, False))


def test_a_column_that_is_there_twice_is_counted(tmp_path: Path) -> None:
    names = [*FOUR, "text", "other", "other"]
    arrays = [pa.array(FOUR.get(name, ["x"] * 4)) for name in names]
    path = write_pool(tmp_path, pa.Table.from_arrays(arrays, names))
    assert read(tmp_path) == (4, {"metadata_invalid": 4})
    pq.write_table(pa.Table.from_arrays(arrays[:4] + arrays[5:], names[:4] + names[5:]), path)
    assert read(tmp_path) == (8, {})


def test_a_file_of_captions_has_each_column_once(tmp_path: Path) -> None:
    path = write_pool(tmp_path, table())
    arrays = [pa.array(ODD_UIDS), pa.array(["x"] * 4), pa.array(["y"] * 4)]
    pq.write_table(pa.Table.from_arrays(arrays, ["uid", "caption", "caption"]), path.with_name("captions.pq"))
    pool = Pool("p", str(tmp_path))
    with pytest.raises(UserError, match="must have one column 'caption'"):
        CaptionSources(pool, columns=[], files=[str(path.with_name("captions.pq"))])


@pytest.mark.slow
def test_two_hundred_damaged_files_are_counted(tmp_path: Path) -> None:
    path, index = tmp_path / "0.parquet", UidIndex(encode_uids(GOOD_UIDS))
    for data in damaged_tables(200):
        path.write_bytes(data)
        drops = Counter[str]()
        count = sum(map(len, read_metadata(str(path), {}, NEEDS, 16, drops, NSFW)))
        assert min(drops.values(), default=0) >= 0
        assert count + sum(drops.values()) >= (Pool("p", str(tmp_path)).count() or 0)
        list(read_rows(str(path), {}, index, frozenset(), NSFW, False))


def test_names_of_columns_need_not_be_text(tmp_path: Path) -> None:
    path = write_pool(tmp_path, table(extra=[1] * 4))
    path.write_bytes(path.read_bytes().replace(b"extra", b"\xff\xfetra"))
    assert read(tmp_path) == (4, {"shard_corrupt": 1})
    assert Pool("p", str(tmp_path)).count() in (4, 8)


def test_statistics_of_a_footer_are_not_asked_for(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """pyarrow ends the process where they are damaged."""
    path = write_pool(tmp_path, table(url=["u"] * 4))
    monkeypatch.setattr(
        pq.ParquetFile,
        "metadata",
        SimpleNamespace(num_rows=4, num_row_groups=1, schema=pq.ParquetFile(path).schema),
    )
    assert len(next(read_metadata(str(path), {}, frozenset(), 10, Counter()))) == 4


@pytest.mark.parametrize("name", COLUMNS)
def test_a_column_has_exact_scores_or_is_refused(tmp_path: Path, name: str) -> None:
    values, expected = COLUMNS[name]
    path = tmp_path / "0.parquet"
    pq.write_table(table(q=values), path)
    (batch,) = read_metadata(str(path), {}, NEEDS, 10, Counter())
    from_file = ScoreFile(str(path), "q")
    if isinstance(expected, str):
        with pytest.raises(UserError, match=expected):
            Column("q").score(batch)
        with pytest.raises(UserError) as error:
            from_file.setup(torch.device("cpu"))
        assert "\n" not in str(error.value)
    else:
        from_file.setup(torch.device("cpu"))
        for scorer in (Column("q"), from_file):
            assert scorer.score(batch) == pytest.approx(expected, abs=0, nan_ok=True)


@pytest.mark.parametrize("sides", [["many"] * 4, [[1]] * 4, [{"a": 1}] * 4])
def test_sides_that_are_no_numbers_are_told(tmp_path: Path, sides: list[Any]) -> None:
    pq.write_table(table(original_width=[1] * 4, original_height=sides), tmp_path / "0.parquet")
    scorer = Basic(200)
    (batch,) = read_metadata(str(tmp_path / "0.parquet"), {}, scorer.needs, 10, Counter())
    with pytest.raises(UserError, match="column original_height of the metadata must hold numbers"):
        scorer.score(batch)


@pytest.mark.parametrize("name", NPY)
def test_an_array_file_is_an_array_or_refused(tmp_path: Path, name: str) -> None:
    (tmp_path / "uids.npy").write_bytes(NPY[name])
    with pytest.raises(UserError, match="is not a numpy array file") as error:
        read_subset(tmp_path / "uids.npy")
    assert "\n" not in str(error.value)


@pytest.mark.parametrize("name", ["uids.txt", "uids.csv"])
def test_lists_of_uids_may_be_zipped_or_marked(tmp_path: Path, name: str) -> None:
    text = "\n".join(["uid"] * name.endswith("csv") + GOOD_UIDS).encode()
    for content in (text, gzip.compress(text), b"\xef\xbb\xbf" + text):
        (tmp_path / name).write_bytes(content)
        listed = UidList(str(tmp_path / name))
        listed.setup(torch.device("cpu"))
        assert len(listed._uids) == 4


def test_damaged_lists_of_uids_are_told(tmp_path: Path) -> None:
    path = tmp_path / "uids.parquet"
    for data in damaged_tables(100):
        path.write_bytes(data)
        for scorer in (UidList(str(path)), ScoreFile(str(path), "q")):
            with suppress(UserError):
                scorer.setup(torch.device("cpu"))


def test_ratings_may_be_marked_but_not_without_end(tmp_path: Path) -> None:
    path = tmp_path / "ratings.txt"
    path.write_bytes(b"\xef\xbb\xbfWord\tConc.M\ndog\t5\n")
    scorer = Lexicon(str(path))
    scorer.setup(torch.device("cpu"))
    assert scorer._rating == {"dog": 5}
    path.write_text("Word\tConc.M\n" + "x" * (csv.field_size_limit() + 1) + "\t1\n")
    with pytest.raises(UserError, match=r"Conc\.M of line"):
        scorer.setup(torch.device("cpu"))


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("scores.csv", b"", "scores.csv cannot be read: Empty CSV file"),
        ("scores.csv", b"uid,score\n\x1b[31m,1,2\n", r"got 3: \x1b[31m,1,2"),
        ("uids.npy", NPY["objects"], "uids.npy is not a numpy array file"),
    ],
)
def test_the_command_line_says_it_in_one_line(
    run: Run, tmp_path: Path, name: str, content: bytes, message: str
) -> None:
    write_pool(tmp_path / "pool", table())
    (tmp_path / name).write_bytes(content)
    of_filter = ["filter=score_file", "filter.column=score"] if name.endswith("csv") else ["filter=uid_list"]
    pool = ["pool=img2dataset", f"pool.url={tmp_path / 'pool'}"]
    assert_one_line(run("task=score", *pool, *of_filter, f"filter.path={tmp_path / name}"), message)


@pytest.mark.parametrize("lists", [False, True])
def test_a_long_caption_that_all_rows_share_makes_small_batches(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, lists: bool
) -> None:
    monkeypatch.setattr(parquet_reader, "MAX_BATCH_BYTES", 10_000)
    long = pa.DictionaryArray.from_arrays(pa.array([0] * 95 + [1] * 5, pa.int32()), ["a " * 500, "b"])
    uids = [f"{number:032x}" for number in range(100)]
    text = long.cast(pa.string())
    if lists:
        text = pa.ListArray.from_arrays(pa.array(range(101), pa.int32()), text)
    pq.write_table(pa.table({"uid": uids, "text": text}), tmp_path / "a.parquet")
    batches = list(read_metadata(str(tmp_path / "a.parquet"), {}, frozenset(), 64, Counter()))
    assert [len(batch) for batch in batches] == [10] * 10
    assert decode_uids(np.concatenate([batch.uids for batch in batches])) == uids
