import uuid

import numpy as np
import pyarrow as pa
import pytest

from benchmark.core.errors import UserError
from benchmark.core.uids import (
    UID_DTYPE,
    UidIndex,
    decode_uid,
    decode_uids,
    encode_uid_column,
    encode_uids,
    make_uid,
    read_subset,
    read_uid,
    read_uid_columns,
    sort_uids,
    uid_columns,
    write_subset,
)


def uids(count: int) -> list[str]:
    return [make_uid(str(i), "text") for i in range(count)]


def test_encoding_is_datacomps_recipe() -> None:
    names = uids(100)
    expected = np.array([(int(u[:16], 16), int(u[16:], 16)) for u in names], UID_DTYPE)
    assert (encode_uids(names) == expected).all()
    assert decode_uids(encode_uids(names)) == names
    assert decode_uids(encode_uids([])) == []


MALFORMED = ["0" * 31, "0" * 33, "0" * 31 + "g", " 1_0" + "0" * 28, "é" + "0" * 31, "0123-4567" + "0" * 27]


@pytest.mark.parametrize("bad", ["", *MALFORMED, None, 7])
def test_malformed_uids_are_refused(bad: object) -> None:
    assert read_uid(bad) is None
    if isinstance(bad, str):
        for odd in (
            [bad],
            ["0" * 32, bad],
            [bad, "0" * (64 - len(bad))],
        ):  # neither dashes nor lengths cancel
            with pytest.raises(ValueError, match="a uid"):
                encode_uids(odd)
            with pytest.raises(ValueError, match="a uid"):
                encode_uid_column(pa.chunked_array([odd]))


def test_uids_of_every_type_are_the_same_bits() -> None:
    given = [uuid.UUID(uid) for uid in uids(5)]
    for column in (
        pa.array([uid.bytes for uid in given], pa.uuid()),
        pa.array([uid.bytes for uid in given], pa.binary(16)),
        pa.array([str(uid).upper() for uid in given]),
        pa.array([uid.hex.upper() for uid in given]),
        pa.array([uid.hex for uid in given], pa.large_string()),
    ):
        sliced = pa.chunked_array([column.slice(0, 2), column.slice(2)])
        assert decode_uids(encode_uid_column(sliced)) == uids(5)
        if pa.types.is_string(column.type):
            assert [read_uid(text) for text in column.to_pylist()] == uids(5)


@pytest.mark.parametrize("words", [3, 2**64 - 1])
def test_an_index_finds_what_a_dictionary_finds(words: int) -> None:
    rng = np.random.default_rng(0)
    array = rng.integers(0, words, (400, 2), dtype=np.uint64, endpoint=True).view(UID_DTYPE).ravel()
    array = np.concatenate([array[:300], array[:50]])
    wanted = rng.permutation(np.concatenate([array, encode_uids(uids(20))]))
    rows = {uid: row for row, uid in enumerate(array.tolist())}  # of a uid that occurs twice the last row
    assert UidIndex(array).find(wanted).tolist() == [rows.get(uid, -1) for uid in wanted.tolist()]
    assert UidIndex(array[:0]).find(wanted).tolist() == [-1] * len(wanted)
    assert UidIndex(array).find(wanted[:0]).tolist() == []


def test_uids_pass_through_table_columns_unchanged() -> None:
    array = encode_uids([*uids(5), "f" * 32, "0" * 32])
    table = pa.table(uid_columns(array))
    assert table.schema.types == [pa.uint64(), pa.uint64()]
    assert (read_uid_columns(table) == array).all()
    assert [decode_uid(uid) for uid in array] == decode_uids(array)


@pytest.mark.parametrize("words", [1, 20, 2**63])
def test_the_order_is_that_of_a_stable_sort(words: int) -> None:
    rng = np.random.default_rng(0)
    array = np.zeros(1000, UID_DTYPE)
    array["f0"], array["f1"] = rng.integers(0, words, 1000), rng.integers(0, 2**63, 1000)
    array = rng.permutation(np.concatenate([array, array[:500]]))
    array["f1"][::7] = 2**64 - 1
    order = sort_uids(array)
    assert order.tolist() == sorted(range(len(array)), key=lambda row: (*array[row].tolist(), row))
    assert sort_uids(array[:0]).tolist() == []


def test_a_subset_file_is_sorted_and_a_bad_one_says_what_is_wrong(tmp_path) -> None:
    array = encode_uids(uids(50) + uids(1))
    write_subset(tmp_path / "s.npy", array)
    assert (np.load(tmp_path / "s.npy") == np.sort(array)).all()
    assert (read_subset(tmp_path / "s.npy") == np.sort(array)).all()
    np.save(tmp_path / "unsorted.npy", np.sort(encode_uids(uids(9)))[::-1])
    np.save(tmp_path / "floats.npy", np.zeros(3))
    for name, message in {"absent": "no subset file", "unsorted": "not sorted", "floats": "u8,u8"}.items():
        with pytest.raises(UserError, match=message):
            read_subset(tmp_path / f"{name}.npy")
