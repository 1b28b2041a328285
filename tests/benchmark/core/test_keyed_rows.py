"""Rows of others: each form of source, kind of key and format gives the same rows; a wrong one is one clear line."""

import gzip
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import mmh3
import numpy as np
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet as pq
import pytest

from benchmark.core.batch import Batch
from benchmark.core.errors import UserError
from benchmark.core.keyed_rows import KeyedRows
from benchmark.core.uids import UID_DTYPE, encode_uids, uid_columns
from tests.servers import Behaviour, hub_server, s3_server

URLS = [f"http://example.org/Ä?n={n}" for n in range(6)]
CAPTIONS = [f"dog, {n}" for n in range(6)]
UIDS = [f"{n:032x}" for n in range(10, 16)]
HASHES = [mmh3.hash64(u + c)[0] for u, c in zip(URLS, CAPTIONS, strict=True)]
KEYS: dict[str, list[Any]] = {"uid": UIDS, "url": URLS, "hash": HASHES, "caption": CAPTIONS}
SCORES = [0.5, -1.0, 3.0, 2**53, 0.0, 0.25]
POOL = Batch(encode_uids(UIDS), CAPTIONS, columns={"url": np.array(URLS, object)})


def write(path: Path, rows: slice, kind: str, **more: Any) -> None:
    keys = KEYS[kind][rows]
    table = pa.table({kind: keys, "score": SCORES[rows]} | more)
    if path.suffix == ".parquet":
        pq.write_table(table, path)
    elif path.suffix == ".npy":
        np.save(path, encode_uids(keys)[::-1])
    elif path.suffix == ".csv":
        pa.csv.write_csv(table, path)
        path.write_bytes(gzip.compress(path.read_bytes()))
    else:
        path.write_text("\r\n".join(map(str, keys)) + "\n\n")


@contextmanager
def here(folder: Path, _: pytest.MonkeyPatch) -> Iterator[str]:
    yield str(folder / "data")


@contextmanager
def on_the_hub(folder: Path, patch: pytest.MonkeyPatch) -> Iterator[str]:
    (folder / "datasets" / "some").mkdir(parents=True)
    (folder / "data").rename(folder / "datasets" / "some" / "scores")
    with hub_server(folder, Behaviour(), patch):
        yield "hf://datasets/some/scores"


@contextmanager
def in_a_bucket(folder: Path, patch: pytest.MonkeyPatch) -> Iterator[str]:
    with s3_server(patch) as filesystem:
        filesystem.put(str(folder / "data"), "bucket/data", recursive=True)
        yield "s3://bucket/data"


@pytest.mark.parametrize("place", [here, on_the_hub, in_a_bucket])
@pytest.mark.parametrize("suffix", [".parquet", ".csv", ".npy", ".txt"])
def test_every_form_gives_the_same_rows(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, place: Callable[..., Any], suffix: str
) -> None:
    kinds = {".npy": ["uid"], ".txt": ["uid", "url", "hash"]}.get(suffix, list(KEYS))
    columns = ["score"] if suffix in (".parquet", ".csv") else []
    for kind in kinds:
        (tmp_path / "data" / kind / "more").mkdir(parents=True)
        write(tmp_path / "data" / kind / f"0{suffix}", slice(0, 3), kind)
        write(tmp_path / "data" / kind / "more" / f"1{suffix}", slice(3, 5), kind)
        (tmp_path / "data" / kind / "README.md").write_text("# Scores")
    with place(tmp_path, monkeypatch) as base:
        for kind in kinds:
            folder, first = f"{base}/{kind}", f"{base}/{kind}/0{suffix}"
            forms = {folder: 5, f"{folder}/*{suffix}": 3, first: 3, f"{folder}/*/1{suffix}": 2}
            for source, count in [*forms.items(), ((first, folder), 5)]:
                rows = KeyedRows("filter.path", source)
                matched = rows.match(rows.keys_of(POOL), columns)
                assert (rows.kind, matched.rows, matched.known) == (kind, count, count)
                listed = range(3, 5) if count == 2 else range(count)
                assert np.flatnonzero(matched.listed).tolist() == list(listed)
                expected = [SCORES[row] if row in listed else np.nan for row in range(6)]
                assert not columns or matched.values[:, 0].tolist() == pytest.approx(
                    expected, abs=0, nan_ok=True
                )
                assert rows.needs <= {"url", "text"}


def test_score_parts_and_words_of_uids_are_read(tmp_path: Path) -> None:
    pq.write_table(pa.table({**uid_columns(encode_uids(UIDS)), "score": SCORES}), tmp_path / "0.parquet")
    rows = KeyedRows("filter.path", str(tmp_path))
    assert rows.columns == ["score"]
    assert rows.match(encode_uids(UIDS[::-1]), ["score"]).values[:, 0].tolist() == SCORES[::-1]


def test_a_uid_may_be_listed_several_times(tmp_path: Path) -> None:
    np.save(tmp_path / "0.npy", encode_uids([UIDS[1], UIDS[0], UIDS[1]]))
    (batch,) = KeyedRows("filter.path", str(tmp_path)).batches()
    assert batch[0].tolist() == encode_uids([UIDS[1], UIDS[0], UIDS[1]]).tolist()
    matched = KeyedRows("filter.path", str(tmp_path)).match(encode_uids(UIDS))
    assert (matched.rows, matched.known, matched.listed.sum()) == (3, 3, 2)


def test_identity_is_of_the_content(tmp_path: Path) -> None:
    known = set()
    for name, rows in {"a": slice(3), "b": slice(3), "c": slice(4)}.items():
        (tmp_path / name).mkdir()
        write(tmp_path / name / f"{name}.parquet", rows, "uid")
        known.add(KeyedRows("filter.path", str(tmp_path / name)).identity())
    assert len(known) == 2


def test_rows_that_differ_are_named(tmp_path: Path) -> None:
    write(tmp_path / "0.parquet", slice(0, 3), "url")
    write(tmp_path / "1.parquet", slice(0, 6), "url")  # equal ones may be there twice
    rows = KeyedRows("filter.path", str(tmp_path))
    assert rows.match(rows.keys_of(POOL), ["score"]).known == 9
    pq.write_table(pa.table({"url": URLS, "score": [*SCORES[:3], 0, 0, np.nan]}), tmp_path / "2.parquet")
    rows = KeyedRows("filter.path", str(tmp_path))
    with pytest.raises(UserError, match=r"different score, such as 'http://example\.org/Ä\?n=3' \(1 such"):
        rows.match(rows.keys_of(POOL), ["score"])


def parquet(file: Path, **columns: Any) -> None:
    pq.write_table(pa.table(columns), file)


def cut(file: Path, size: int, to: Path) -> None:
    to.write_bytes(file.read_bytes()[:-size])
    if to.suffix != ".parquet":
        file.unlink()


def cut_array(folder: Path) -> None:
    np.save(folder / "1.npy", np.zeros(3, UID_DTYPE))
    cut(folder / "1.npy", 8, folder / "0.npy")
    (folder / "0.parquet").unlink()


# What is changed in a folder with one good file; the message.
WRONG: dict[str, tuple[Callable[[Path], object], str]] = {
    "mixture": (
        lambda of: write(of / "1.csv", slice(3), "uid"),
        r"one format, not \.csv, \.parquet; .* \*\.csv",
    ),
    "damaged": (lambda of: cut(of / "0.parquet", 20, of / "1.parquet"), r"1\.parquet cannot be read"),
    "cut array": (cut_array, "is not a numpy array file"),
    "other columns": (
        lambda of: parquet(of / "1.parquet", uid=UIDS, scores=SCORES),
        r"1\.parquet must have one column score, not 0",
    ),
    "no rows": (lambda of: write(of / "0.parquet", slice(0), "uid"), "is empty; give files with rows"),
    "no key": (
        lambda of: parquet(of / "0.parquet", id=UIDS, score=SCORES),
        "must have a column uid, url, hash, caption, md5, sha256 or domain as the key; its columns are id, score",
    ),
    "malformed": (
        lambda of: parquet(of / "1.parquet", uid=["a"], score=[1.0]),
        r"1\.parquet cannot be read: a uid is not 32 characters long; uids are",
    ),
    "text": (
        lambda of: parquet(of / "1.parquet", uid=UIDS, score=["high"] * 6),
        r"column score of .*1\.parquet must be numeric, not 'high'",
    ),
    "no such files": (
        lambda of: (of / "0.parquet").rename(of / "0.tar"),
        "has no files that can be read; give a",
    ),
    "empty": (lambda of: (of / "0.parquet").unlink(), "has no files that can be read; give a"),
    "missing": (lambda of: of.rename(of.with_name("gone")), "not found; give a"),
}


@pytest.mark.parametrize("name", WRONG)
def test_a_wrong_source_is_told_in_one_line(tmp_path: Path, name: str) -> None:
    change, message = WRONG[name]
    write(tmp_path / "0.parquet", slice(3), "uid")
    change(tmp_path)
    rows = KeyedRows("filter.path", str(tmp_path))
    with pytest.raises(UserError, match=message) as error:
        rows.match(POOL.uids, ["score"])
    assert "\n" not in str(error.value)


def test_a_column_is_checked_before_rows_are_read(tmp_path: Path) -> None:
    write(tmp_path / "0.csv", slice(3), "uid")
    with pytest.raises(UserError, match=r"filter\.column=scor is not in .*; did you mean 'score'"):
        KeyedRows("filter.path", str(tmp_path)).check(["scor"], "filter.column")


@pytest.mark.parametrize("kind", ["md5", "sha256", "key"])
def test_an_example_of_the_pool_needs_no_other_column(tmp_path: Path, kind: Any) -> None:
    pq.write_table(pa.table({kind: ["a" * (64 if kind == "sha256" else 32)]}), tmp_path / "0.parquet")
    pool = Batch(POOL.uids, CAPTIONS, columns={kind: np.array(["b"] * 6, object)})
    assert KeyedRows("filter.path", str(tmp_path), kind).example(pool) == "'b'"
