"""Metadata read as columns, against each row on its own in plain Python."""

from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from benchmark.core.batch import SampleError
from benchmark.core.uids import decode_uids, make_uid
from benchmark.pool import parquet_reader
from benchmark.pool.parquet_reader import read_metadata
from benchmark.pool.sample_fields import check_caption, check_uid, usable_captions

CAPTIONS: list[bytes | None] = [
    b"a dog", b" a dog", "été".encode(), "\u3000漢字".encode(), b"", b"  \t", "\xa0\x1c\x85".encode(), b"\x7f",
    b"\x1d", None, b"\xff\xfe", b"a \xed\xa0\x80 lone surrogate", b"NULL", b"'",
]  # fmt: skip
HEX = "0123456789abcdef" * 2
UIDS = [HEX, HEX.upper(), None, HEX[1:], HEX + "\n", "g" + HEX[1:], "", f" {HEX[1:]}", "é" * 16]
STATUS = ["success", "success", "success", None, "failed_to_download", "Success", ""]
NSFW = ["UNLIKELY", "UNLIKELY", "NSFW", None]
ENCODED = pa.dictionary(pa.int8(), pa.string())
TEXT_TYPES = [pa.string(), pa.large_string(), pa.binary(), pa.large_binary(), ENCODED]


def column(values: list[Any], kind: pa.DataType) -> pa.Array:
    """A column of bytes or strings, valid UTF-8 or not, as a parquet file can hold it."""
    encoded = [value.encode() if isinstance(value, str) else value for value in values]
    if kind == ENCODED:
        return pa.array(encoded, pa.binary()).cast(pa.string()).dictionary_encode()
    raw = pa.array(encoded, pa.large_binary() if "large" in str(kind) else pa.binary())
    return pa.Array.from_buffers(kind, len(raw), raw.buffers())


def plain(
    rows: list[dict[str, Any]], nsfw: list[str]
) -> tuple[list[str], list[str], list[float], Counter[str]]:
    """Uids, captions, widths and drops, row by row."""
    kept, drops = [], Counter[str]()
    for row in rows:
        try:
            if row.get("status") not in (None, "success"):
                raise SampleError("download_failed")
            if nsfw and row["nsfw"] not in nsfw:
                raise SampleError("nsfw")
            caption = check_caption(row["text"])
            kept.append(
                (check_uid(row.get("uid"), row.get("url"), row.get("key"), caption), caption, row["width"])
            )
        except SampleError as error:
            drops[error.reason] += 1
    uids, captions, widths = zip(*kept, strict=True) if kept else ((), (), ())
    return list(uids), list(captions), list(widths), drops


@pytest.mark.parametrize("trial", range(10))
def test_columns_are_checked_as_single_rows_are(tmp_path: Path, trial: int) -> None:
    rng = np.random.default_rng(trial)
    kind = TEXT_TYPES[trial % len(TEXT_TYPES)]
    valid = [c for c in CAPTIONS if c is None or (b"\xff" not in c and b"\xed\xa0" not in c)]
    captions = valid if pa.types.is_dictionary(kind) or rng.random() < 0.3 else CAPTIONS
    odd = {"text": captions, "uid": UIDS, "status": STATUS, "nsfw": NSFW, "key": ["7", None]}
    odd["url"] = ["http://a", "", None]
    usual = {"text": [b"a dog"], "uid": [HEX], "status": ["success"], "nsfw": ["UNLIKELY"]}
    names = ["text", "nsfw", *rng.permutation(["uid", "status", "url", "key"])[: rng.integers(5)]]
    count = int(rng.integers(1, 60))
    values = {}
    for name in names:
        choices = odd[name] if rng.random() < 0.7 else usual.get(name, odd[name])
        values[name] = [choices[place] for place in rng.integers(0, len(choices), count)]
    widths = [None if missing else float(width) for width, missing in enumerate(rng.random(count) < 0.2)]
    table = {name: column(values[name], kind if name in ("text", "uid") else pa.string()) for name in names}
    if "uid" in table and pa.types.is_binary(table["uid"].type) | pa.types.is_large_binary(table["uid"].type):
        table["uid"] = column(values["uid"], pa.string())
    pq.write_table(pa.table(table | {"width": widths}), tmp_path / "a.parquet", row_group_size=23)
    nsfw = [["UNLIKELY"], []][rng.integers(2)]
    drops = Counter[str]()
    path = str(tmp_path / "a.parquet")
    batches = list(read_metadata(path, {}, frozenset({"width"}), 10, drops, nsfw))
    rows = [dict(zip(names, row, strict=True)) for row in zip(*values.values(), strict=True)]
    rows = [row | {"width": width} for row, width in zip(rows, widths, strict=True)]
    uids, texts, expected_widths, expected_drops = plain(rows, nsfw)
    assert [uid for batch in batches for uid in decode_uids(batch.uids)] == uids
    assert [text for batch in batches for text in batch.texts] == texts
    read = np.concatenate([batch.columns["width"] for batch in batches])
    assert np.array_equal(read, np.array(expected_widths, float), equal_nan=True)
    assert +drops == expected_drops
    for batch, like in zip(
        read_metadata(path, {}, frozenset(), 10, Counter(), nsfw, False), batches, strict=True
    ):
        assert (batch.uids.tolist(), batch.texts) == (like.uids.tolist(), [])


def test_captions_of_one_character_are_usable_unless_a_space() -> None:
    characters = [chr(n) for n in range(0x3100)]  # all spaces are among them
    drops = Counter[str]()
    rows, _ = usable_captions(pa.array(characters, pa.large_string()), drops)
    expected = [row for row, character in enumerate(characters) if not character.isspace()]
    assert rows.tolist() == expected
    assert drops == {"caption_empty": len(characters) - len(expected)}


@pytest.mark.parametrize("missing", [False, True])
def test_urls_are_read_where_a_uid_is_missing(tmp_path: Path, missing: bool, monkeypatch) -> None:
    uids = [HEX, None if missing else HEX[::-1]]
    table = {"uid": uids, "url": ["u0", "u1"], "key": ["0", "1"], "text": ["one", "two"]}
    pq.write_table(pa.table(table), tmp_path / "a.parquet")
    records, plain_usable = [], parquet_reader._usable
    monkeypatch.setattr(
        parquet_reader, "_usable", lambda record, *args: records.append(record) or plain_usable(record, *args)
    )
    (batch,) = read_metadata(str(tmp_path / "a.parquet"), {}, frozenset(), 10, Counter())
    assert ("url" in records[0], "key" in records[0]) == (missing, missing)
    assert decode_uids(batch.uids)[1] == (make_uid("u1", "two") if missing else HEX[::-1])
    (batch,) = read_metadata(str(tmp_path / "a.parquet"), {}, frozenset({"url"}), 10, Counter())
    assert batch.columns["url"].tolist() == ["u0", "u1"]
