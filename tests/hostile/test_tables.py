"""Metadata, columns, score files and arrays of the web: told in one line, or counted, and never another score."""

import csv
import datetime as dt
import decimal
import gzip
import io
import pickle
import struct
from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import torch

from benchmark.core.batch import Batch
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

GOOD_UIDS = [f"{number:032x}" for number in range(4)]
ODD_UIDS = [f"{number:032x}" for number in range(4, 8)]
NSFW = ("UNLIKELY",)
FOUR = {"uid": ODD_UIDS, "text": ["a", "b", "c", "d"], "nsfw": ["UNLIKELY"] * 4, "q": [1.0, 2.0, 3.0, 4.0]}


# Four values of each type that is not text.
TYPES: Mapping[str, Any] = {
    "integers": [1, 2, 3, 4],
    "lists": [["a"], ["b"], [], None],
    "structs": [{"a": 1}] * 4,
    "maps": pa.array([[("a", 1)]] * 4, pa.map_(pa.string(), pa.int64())),
    "bytes": [b"\xff\xfe"] * 4,
    "nothing": pa.nulls(4),
    "times": [dt.datetime(2020, 1, 1, tzinfo=dt.UTC)] * 4,
    "times of day": pa.array([1, 2, 3, 4], pa.time64("ns")),
    "decimals": [decimal.Decimal("1.5")] * 4,
}
LISTS = pa.array([["a", "b"], [None], [], [" "]], pa.large_list(pa.string_view()))
ARROW = int(pa.__version__.partition(".")[0])
PAIRS = pa.array([["a", "b"]] * 3 + [None], pa.list_(pa.string(), 2))
VIEWS = {name: pa.array(FOUR[name], pa.string_view()) for name in ("uid", "text", "nsfw")}
NUMERIC = ("integers", "nothing", "decimals")
# Columns of the second file of a pool (None takes one away), and why its four pairs are lost.
METADATA: Mapping[str, tuple[dict[str, Any], dict[str, int]]] = {
    "no text": ({"text": None}, {"caption_missing": 4}),
    "other names": ({"text": None, "uid": None, "nsfw": None, "Text": ["a"] * 4}, {"caption_missing": 4}),
    "no uid": ({"uid": None}, {}),
    "no nsfw": ({"nsfw": None}, {"nsfw": 4}),
    "bytes that are text": ({"text": [b"a"] * 4, "nsfw": [b"UNLIKELY"] * 4}, {}),
    "views of strings": (VIEWS, {}),
    **{f"text of {kind}": ({"text": odd}, {"caption_missing": 4}) for kind, odd in TYPES.items()},
    "text of bytes": ({"text": TYPES["bytes"]}, {"caption_invalid_utf8": 4}),
    "text of lists": ({"text": TYPES["lists"]}, {"caption_missing": 2}),
    "text of large lists of views": ({"text": LISTS}, {"caption_missing": 2, "caption_empty": 1}),
    # Older versions of pyarrow cannot make texts of such a column.
    "text of pairs": ({"text": PAIRS}, {"caption_missing" if ARROW >= 26 else "pair_of_corrupt_shard": 1}),
    **{f"uids of {k}": ({"uid": odd}, {"uid_invalid": 4}) for k, odd in TYPES.items() if k != "nothing"},
    "uids of lists": ({"uid": TYPES["lists"]}, {"uid_invalid": 3}),
    **{f"nsfw of {kind}": ({"nsfw": odd}, {"nsfw": 4}) for kind, odd in TYPES.items()},
    **{
        f"urls of {kind}": ({"uid": None, "url": TYPES[kind]}, {})
        for kind in ("integers", "lists", "structs")
    },
}
# Values of a column of scores, and what becomes of them: scores, or a part of the line that refuses them.
COLUMNS: Mapping[str, tuple[Any, list[float] | str]] = {
    "integers above 2**24": ([2**24 + 1, None, 2**53, -1], [2**24 + 1, np.nan, 2**53, -1]),
    "integers above 2**53 and a missing one": (pa.array([2**53 + 1, None, 1, 2]), "holds 9007199254740993"),
    "integers of 64 bits and a missing one": (
        pa.array([2**64 - 1, None, 1, 2], pa.uint64()),
        "holds 18446744073709551615",
    ),
    "truth and missing": ([True, None, False, True], [1, np.nan, 0, 1]),
    "halves": (pa.array(np.array([1, 2, 3, 4], np.float16)), [1, 2, 3, 4]),
    "nothing": (pa.nulls(4), [np.nan] * 4),
    "nanoseconds": (pa.array([1, 2, 3, 4], pa.timestamp("ns")), "must be numeric"),
    "days beyond the calendar": (pa.array([2**31 - 1] * 4, pa.date32()), "must be numeric"),
    **{kind: (odd, "must be numeric") for kind, odd in TYPES.items() if kind not in NUMERIC},
    "decimals": (TYPES["decimals"], [1.5] * 4),
}


def table(**columns: Any) -> pa.Table:
    return pa.table({name: values for name, values in (FOUR | columns).items() if values is not None})


def npy(header: bytes) -> bytes:
    return b"\x93NUMPY\x01\x00" + struct.pack("<H", len(header)) + header + bytes(64)


def npy_of_shape(shape: str) -> bytes:
    uids = "{'descr': [('f0','<u8'),('f1','<u8')], 'fortran_order': False, 'shape': %s, }\n"
    return npy((uids % shape).encode())


def saved(save: Any, *arguments: Any) -> bytes:
    file = io.BytesIO()
    save(file, *arguments)
    return file.getvalue()


# Files that are named .npy and hold no array that can be read.
NPY: Mapping[str, bytes] = {
    "objects": saved(np.save, np.array([{"a": 1}], object)),
    "a pickle": pickle.dumps([1]),
    "an archive": saved(np.savez, np.ones(1)),
    "a cut array": saved(np.save, encode_uids(GOOD_UIDS))[:-8],
    "more than the file": npy_of_shape("(1000000000,)"),
    "more than 64 bits": npy_of_shape("(2**100,)"),
    "less than nothing": npy_of_shape("(-1,)"),
    "truth as a shape": npy_of_shape("(True,)"),
    "code": npy(b"__import__('os').abort()\n"),
    "brackets without end": npy(b"(" * 9000),
    "zipped": gzip.compress(saved(np.save, encode_uids(GOOD_UIDS))),
}


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


def test_names_of_columns_need_not_be_text(tmp_path: Path) -> None:
    path = write_pool(tmp_path, table(extra=[1] * 4))
    path.write_bytes(path.read_bytes().replace(b"extra", b"\xff\xfetra"))
    assert read(tmp_path) == (4, {"shard_corrupt": 1})
    assert Pool("p", str(tmp_path)).count() in (4, 8)


def test_statistics_of_a_footer_are_not_asked_for(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """pyarrow ends the process where they are damaged."""
    path = write_pool(tmp_path, table(url=["u"] * 4))
    schema = pq.ParquetFile(path).schema
    footer = SimpleNamespace(num_rows=4, num_row_groups=1, schema=schema)
    monkeypatch.setattr(pq.ParquetFile, "metadata", footer)
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
            from_file.score(batch)
        assert "\n" not in str(error.value)
    else:
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
        assert UidList(str(tmp_path / name)).score(Batch(encode_uids(GOOD_UIDS), [])).tolist() == [1] * 4


def test_ratings_may_be_marked_but_not_without_end(tmp_path: Path) -> None:
    path = tmp_path / "ratings.txt"
    path.write_bytes(b"\xef\xbb\xbfWord\tConc.M\ndog\t5\n")
    scorer = Lexicon(str(path))
    scorer.setup(torch.device("cpu"))
    assert scorer._rating == {"dog": 5}
    path.write_text("Word\tConc.M\n" + "x" * (csv.field_size_limit() + 1) + "\t1\n")
    with pytest.raises(UserError, match=r"Conc\.M of line"):
        scorer.setup(torch.device("cpu"))


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
