"""The shipped worlds: drawn again, their rows are equal; pools of other worlds are written in the same layout."""

from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from benchmark.pool.pool import Pool
from pairsift.demo.sprites import FILE
from pairsift.demo.worlds import WORLDS
from tools.demo_world.__main__ import write_pool
from tools.demo_world.mix import pool_mix
from tools.demo_world.rows import PAIR
from tools.demo_world.shipped import (
    CLASSES,
    EVALUATION,
    RATED,
    annotated_rows,
    class_rows,
    cut_rows,
    evaluation_rows,
    is_card_current,
    rated_rows,
    uncut_rows,
)  # fmt: skip
from tools.demo_world.sprites import write_sprites


def test_two_thousand_pairs_drawn_again_are_the_shipped_ones() -> None:
    order = [("index", "ascending"), ("least", "ascending"), ("mismatched_from", "ascending")]
    for name, rows in (("cut", cut_rows(0, 1_000)), ("uncut", uncut_rows(0, 1_000))):
        drawn = pa.Table.from_pylist(rows, PAIR)
        shipped = pq.read_table(WORLDS / f"{name}.parquet", schema=PAIR)
        first = shipped.filter(pc.less_equal(shipped["index"], pc.max(drawn["index"])))
        assert drawn.sort_by(order).equals(first.sort_by(order))


def test_other_files_drawn_again_are_the_shipped_ones(tmp_path: Path) -> None:
    for name, rows, schema in (
        ("evaluation", [*evaluation_rows()], EVALUATION),
        ("classes", [*class_rows()], CLASSES),
        ("rated", [*rated_rows()], RATED),
        ("annotated", annotated_rows(), RATED),
    ):
        shipped = pq.read_table(WORLDS / f"{name}.parquet", schema=schema)
        assert pa.Table.from_pylist(rows, schema).equals(shipped), name
    write_sprites(tmp_path / "sprites.json")
    assert (tmp_path / "sprites.json").read_bytes() == FILE.read_bytes()


def test_the_card_notices_a_changed_file(tmp_path: Path) -> None:
    for path in WORLDS.iterdir():
        (tmp_path / path.name).write_bytes(path.read_bytes())
    assert is_card_current(tmp_path)
    (tmp_path / "rated.parquet").write_bytes(b"another")
    assert not is_card_current(tmp_path)


def test_a_pool_of_another_world_can_be_read(tmp_path: Path) -> None:
    write_pool(tmp_path / "other", pool_mix(0.3), 30, 7, 1)
    assert Pool("other", str(tmp_path / "other")).count() == 30
