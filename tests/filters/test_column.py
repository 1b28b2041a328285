"""A metadata column as the score, whatever the files hold under its name."""

from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from benchmark.core.batch import NO_SCORE
from benchmark.core.errors import UserError
from benchmark.core.exact_numbers import numeric_scores
from benchmark.core.uids import decode_uids
from benchmark.engine.local import LocalEngine
from benchmark.pool.pool import Pool
from benchmark.scoring.score_pool import score_pool
from benchmark.scoring.score_table import ScoreTable
from benchmark.selection.top_k import select_top_k
from filters.base import Filter
from filters.column import Column
from filters.score_file import ScoreFile
from tests.pools import Row, rows, write_tar

PAIRS = rows(6)


def write(path: Path, samples: list[Row], values: pa.Array | None) -> None:
    columns = {"uid": [s.uid for s in samples], "text": [s.text for s in samples]}
    path.parent.mkdir(parents=True, exist_ok=True)
    table = pa.table(columns | ({} if values is None else {"quality": values}))
    pq.write_table(table, path, write_page_checksum=True, compression="none")


def scored(folder: Path, scorer: Filter | None = None) -> ScoreTable:
    return score_pool(Pool("p", str(folder)), scorer or Column("quality"), LocalEngine("cpu", 1))


def by_pair(table: ScoreTable) -> list[float]:
    known = dict(zip(decode_uids(table.uids), table.scores.tolist(), strict=True))
    return [known.get(row.uid, -1.0) for row in PAIRS]


def test_files_of_other_types_and_without_the_column(tmp_path: Path) -> None:
    """Fractions and integers mix; a file without the column has no scores, and they are counted."""
    write(tmp_path / "metadata" / "0.parquet", PAIRS[:2], None)
    write(tmp_path / "metadata" / "1.parquet", PAIRS[2:4], pa.array([0.5, None], pa.float32()))
    write(tmp_path / "metadata" / "2.parquet", PAIRS[4:], pa.array([2**24, 2**24 + 1], pa.int64()))
    table = scored(tmp_path)
    nan = np.nan
    assert by_pair(table) == pytest.approx([nan, nan, 0.5, nan, 2**24, 2**24 + 1], abs=0, nan_ok=True)
    selection = select_top_k(table, 1, seed=0)
    assert decode_uids(selection.uids) == [PAIRS[5].uid]
    assert selection.drops == {NO_SCORE: 3}


DECIMALS = [Decimal("0.125"), None, Decimal(-7), Decimal(9), Decimal(1), Decimal(2)]
HALVES = np.array([1, np.inf, -np.inf, np.nan, 3, 2], np.float16)


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        (pa.array(HALVES), [1, np.nan, np.nan, np.nan, 3, 2]),
        (pa.array(HALVES).cast("float64"), [1, np.nan, np.nan, np.nan, 3, 2]),
        (pa.array(DECIMALS, pa.decimal128(6, 3)), [0.125, np.nan, -7, 9, 1, 2]),
        (pa.array(DECIMALS, pa.decimal256(40, 3)), [0.125, np.nan, -7, 9, 1, 2]),
    ],
    ids=["half", "double", "decimal128", "decimal256"],
)
def test_infinities_are_no_scores_and_decimals_are(
    tmp_path: Path, values: pa.Array, expected: list[float]
) -> None:
    write(tmp_path / "metadata" / "0.parquet", PAIRS, values)
    pq.write_table(pa.table({"uid": [row.uid for row in PAIRS], "quality": values}), tmp_path / "s.parquet")
    for scorer in (Column("quality"), ScoreFile(str(tmp_path / "s.parquet"), "quality")):
        table = scored(tmp_path, scorer)
        assert by_pair(table) == pytest.approx(expected, abs=0, nan_ok=True)
        missing = int(np.isnan(expected).sum())
        assert select_top_k(table, 6 - missing, seed=0).drops == {NO_SCORE: missing}
    if values.type not in (pa.float16(), pa.float64()):
        numbers = Pool("p", str(tmp_path)).metadata_numbers(table.uids, ("quality",))[:, 0]
        assert np.array_equal(numbers, table.scores, equal_nan=True)


def test_a_corrupt_page_is_counted_not_scored(tmp_path: Path) -> None:
    write(tmp_path / "metadata" / "0.parquet", PAIRS[:2], pa.array([1.0, 2.0]))
    broken = tmp_path / "metadata" / "1.parquet"
    write(broken, PAIRS[2:], pa.array([0.123456789] * 4))
    data = broken.read_bytes()
    bits = np.float64(0.123456789).tobytes()
    assert bits in data
    broken.write_bytes(data.replace(bits, bits[:-1] + b"\x40"))
    table = scored(tmp_path)
    assert by_pair(table) == [1, 2, -1, -1, -1, -1]
    assert table.drops == {"pair_of_corrupt_shard": 4}


@pytest.mark.parametrize(
    ("formats", "values", "expected"),
    [
        ("json parquet", [2**53, None, 1], [2**53, np.nan, 1]),
        ("json", [1, 0.5, True], [1, 0.5, 1]),
        ("json", [1, "high", 1], "must be numeric, not 'high'"),
        ("json parquet", ["0.31", "0.2", "1"], "must be numeric, not '0.31'"),
        ("json parquet", [[1], [2, 3], [1]], "must be numeric, not"),
        ("json parquet", [1, 2**53 + 1, 1], "holds 9007199254740993"),
        ("json", [2**70, 1, 1], "holds 1180591620717411303424"),
        ("parquet", [Decimal(2**53 + 2)] * 3, "holds 9007199254740994"),
    ],
)
def test_columns_hold_numbers_or_are_refused_in_one_line(
    tmp_path: Path, formats: str, values: list[Any], expected: Any
) -> None:
    for form in formats.split():
        if form == "json":
            pairs = zip(PAIRS[:3], values, strict=True)
            of = [Row(row.key, row.url, row.text, row.image, {"quality": value}) for row, value in pairs]
            write_tar(tmp_path / form / "shards" / "0.tar", of)
        else:
            write(tmp_path / form / "metadata" / "1.parquet", PAIRS[:3], pa.array(values))
        if isinstance(expected, str):
            with pytest.raises(UserError, match=f"filter.column=quality of the metadata {expected}") as error:
                scored(tmp_path / form)
            assert "\n" not in str(error.value)
        else:
            assert by_pair(scored(tmp_path / form))[:3] == pytest.approx(expected, abs=0, nan_ok=True)


def test_floats_keep_their_precision() -> None:
    for dtype, kept in ((np.float16, np.float32), (np.float32, np.float32), (np.float64, np.float64)):
        values = np.array([0.1, np.nan, np.inf], dtype)
        found = numeric_scores(values, "c")
        assert found.dtype == kept
        assert np.array_equal(found, values, equal_nan=True)
    assert str(numeric_scores(np.array([True, False]), "c").tolist()) == "[1.0, 0.0]"
