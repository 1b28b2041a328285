"""Metadata, columns, score files and arrays that are not what their names say."""

import datetime as dt
import decimal
import gzip
import io
import pickle
import random
import struct
from collections.abc import Mapping
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from benchmark.core.uids import encode_uids

GOOD_UIDS = [f"{number:032x}" for number in range(4)]
ODD_UIDS = [f"{number:032x}" for number in range(4, 8)]
NSFW = ("UNLIKELY",)
FOUR = {"uid": ODD_UIDS, "text": ["a", "b", "c", "d"], "nsfw": ["UNLIKELY"] * 4, "q": [1.0, 2.0, 3.0, 4.0]}
PAIR_TYPE = pa.map_(pa.string(), pa.int64())


def odd_type(kind: str) -> Any:
    """Four values of a type that is not text."""
    return {
        "integers": [1, 2, 3, 4],
        "lists": [["a"], ["b"], [], None],
        "structs": [{"a": 1}] * 4,
        "maps": pa.array([[("a", 1)]] * 4, PAIR_TYPE),
        "bytes": [b"\xff\xfe"] * 4,
        "nothing": pa.nulls(4),
        "times": [dt.datetime(2020, 1, 1, tzinfo=dt.UTC)] * 4,
        "times of day": pa.array([1, 2, 3, 4], pa.time64("ns")),
        "decimals": [decimal.Decimal("1.5")] * 4,
    }[kind]


TYPES = ("integers", "lists", "structs", "maps", "bytes", "nothing", "times", "times of day", "decimals")
NUMERIC = ("integers", "nothing", "decimals")
# Columns of the second file of a pool (None takes one away), and why its four pairs are lost.
METADATA: Mapping[str, tuple[dict[str, Any], dict[str, int]]] = {
    "no text": ({"text": None}, {"caption_missing": 4}),
    "neither text nor uid": ({"text": None, "uid": None}, {"caption_missing": 4}),
    "other names alone": (
        {"text": None, "uid": None, "nsfw": None, "Text": ["a"] * 4},
        {"caption_missing": 4},
    ),
    "no uid": ({"uid": None}, {}),
    "no nsfw": ({"nsfw": None}, {"nsfw": 4}),
    "bytes that are text": ({"text": [b"a"] * 4, "nsfw": [b"UNLIKELY"] * 4}, {}),
    "views of strings": (
        {name: pa.array(FOUR[name], pa.string_view()) for name in ("uid", "text", "nsfw")},
        {},
    ),
    "some bytes": ({"text": [b"a", b"\xff", None, b"d"]}, {"caption_invalid_utf8": 1, "caption_missing": 1}),
    "some nsfw bytes": ({"nsfw": [b"UNLIKELY", b"\xff", None, b"NSFW"]}, {"nsfw": 3}),
    "some uids": ({"uid": [None, ODD_UIDS[1], "7", ODD_UIDS[3]]}, {"uid_invalid": 1}),
    **{
        f"text of {kind}": (
            {"text": odd_type(kind)},
            {"caption_invalid_utf8" if kind == "bytes" else "caption_missing": 4},
        )
        for kind in TYPES
        if kind != "lists"
    },
    "text of lists": ({"text": odd_type("lists")}, {"caption_missing": 2}),
    "text of large lists of views": (
        {"text": pa.array([["a", "b"], [None], [], [" "]], pa.large_list(pa.string_view()))},
        {"caption_missing": 2, "caption_empty": 1},
    ),
    "text of pairs": (
        {"text": pa.array([["a", "b"]] * 3 + [None], pa.list_(pa.string(), 2))},
        {"caption_missing": 1},
    ),
    "text of lists of numbers": ({"text": [[1], [2], [], None]}, {"caption_missing": 4}),
    **{
        f"uids of {k}": ({"uid": odd_type(k)}, {"uid_invalid": 4})
        for k in TYPES
        if k != "nothing" and k != "lists"
    },
    "uids of lists": ({"uid": odd_type("lists")}, {"uid_invalid": 3}),
    **{f"nsfw of {kind}": ({"nsfw": odd_type(kind)}, {"nsfw": 4}) for kind in TYPES},
    **{
        f"urls of {kind}": ({"uid": None, "url": odd_type(kind)}, {})
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
    "durations": (pa.array([1, 2, 3, 4], pa.duration("ns")), "must be numeric"),
    "days beyond the calendar": (pa.array([2**31 - 1] * 4, pa.date32()), "must be numeric"),
    **{kind: (odd_type(kind), "must be numeric") for kind in TYPES if kind not in NUMERIC},
    "decimals": (odd_type("decimals"), [1.5] * 4),
}


def table(**columns: Any) -> pa.Table:
    return pa.table({name: values for name, values in (FOUR | columns).items() if values is not None})


def damaged_tables(count: int) -> list[bytes]:
    """Parquet files of forty rows with some other bytes, most of them in the footer, or cut."""
    rows = {
        "uid": [f"{number:032x}" for number in range(40)],
        "text": [f"caption {number}" for number in range(40)],
        "url": [f"http://example.org/{number}" for number in range(40)],
        "nsfw": ["UNLIKELY"] * 40,
        "q": pa.array([None if number % 5 == 0 else number for number in range(40)]),
    }
    whole = []
    for settings in (
        {"compression": "none", "write_page_checksum": True},
        {"compression": "snappy", "row_group_size": 7},
        {"compression": "gzip", "data_page_version": "2.0", "store_schema": False},
    ):
        file = io.BytesIO()
        pq.write_table(pa.table(rows), file, **settings)
        whole.append(file.getvalue())
    rng = random.Random(0)
    return [damaged(rng, rng.choice(whole)) for _ in range(count)]


def damaged(rng: random.Random, data: bytes) -> bytes:
    changed = bytearray(data)
    footer = len(data) - 8 - int.from_bytes(data[-8:-4], "little")
    for _ in range(rng.choice((1, 1, 2, 8))):
        changed[rng.randrange(footer if rng.random() < 0.7 else 0, len(data))] = rng.randrange(256)
    return bytes(changed[: rng.randrange(len(data))] if rng.random() < 0.1 else changed)


def npy(header: bytes, data: bytes = bytes(64)) -> bytes:
    return b"\x93NUMPY\x01\x00" + struct.pack("<H", len(header)) + header + data


def npy_of_shape(shape: str) -> bytes:
    return npy(
        f"{{'descr': [('f0','<u8'),('f1','<u8')], 'fortran_order': False, 'shape': {shape}, }}\n".encode()
    )


def saved(save: Any, *arguments: Any) -> bytes:
    file = io.BytesIO()
    save(file, *arguments)
    return file.getvalue()


# Files that are named .npy and hold no array that can be read.
NPY: Mapping[str, bytes] = {
    "nothing": b"",
    "objects": saved(np.save, np.array([{"a": 1}], object)),
    "a pickle": pickle.dumps([1]),
    "an archive": saved(np.savez, np.ones(1)),
    "a broken archive": b"PK\x03\x04" + bytes(50),
    "a cut array": saved(np.save, encode_uids(GOOD_UIDS))[:-8],
    "a cut header": b"\x93NUMPY\x01\x00\x76",
    "more than the file": npy_of_shape("(1000000000,)"),
    "more than there is": npy_of_shape("(10000000000000,)"),
    "more than 64 bits": npy_of_shape("(2**100,)"),
    "a long number": npy_of_shape("(1" + "0" * 100 + ",)"),
    "less than nothing": npy_of_shape("(-1,)"),
    "truth as a shape": npy_of_shape("(True,)"),
    "code": npy(b"__import__('os').abort()\n"),
    "brackets without end": npy(b"(" * 9000),
    "signs without end": npy(b"-" * 9000 + b"1"),
    "zipped": gzip.compress(saved(np.save, encode_uids(GOOD_UIDS))),
}
