"""Reads the shipped worlds: the content of each pair of the pool and of each evaluation image.

`tools/demo_world` in the repository writes these files; `card.json` has their hashes.
"""

import json
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from benchmark.core.errors import UserError

WORLDS = Path(__file__).parent / "worlds"
PAIRS = 80_000  # of each world
MOST_MISMATCHED = 0.05
CUT_CONSISTENCY, UNCUT_CONSISTENCIES = 0.5, (0.0, 0.5, 1.0)
OTHER_WORLDS = "the repository's `python -m tools.demo_world pool FOLDER` draws others, for pool=img2dataset"


def read_card() -> dict[str, str]:
    """Return the hash of each shipped file. Raises `UserError` if a source archive, without them, was installed."""
    if not WORLDS.is_dir():
        raise UserError("the demo is not in the source archive; install pairsift's wheel, or name a pool=")
    card: dict[str, str] = json.loads((WORLDS / "card.json").read_text())["files"]
    return card


def check_world(pairs: int, seed: int, consistency: float, mismatched: float, cut: bool) -> None:
    """Raise `UserError` unless a world with these settings is shipped."""
    shipped = (CUT_CONSISTENCY,) if cut else UNCUT_CONSISTENCIES
    if pairs > PAIRS:
        raise UserError(f"pool.demo.pairs={pairs} must be at most {PAIRS:,}; {OTHER_WORLDS}")
    if seed:
        raise UserError(f"pool.demo.seed={seed} must be 0, the seed of the shipped pairs; {OTHER_WORLDS}")
    if mismatched > MOST_MISMATCHED:
        raise UserError(
            f"pool.demo.mismatched={mismatched} must be at most {MOST_MISMATCHED}; {OTHER_WORLDS}"
        )
    if consistency not in shipped:
        known = "0.5, or 0 or 1 with pool.demo.cut=null" if cut else "0, 0.5 or 1"
        raise UserError(f"pool.demo.consistency={consistency} must be {known}; {OTHER_WORLDS}")


def read_world(pairs: int, consistency: float, mismatched: float, cut: bool) -> pa.Table:
    """Return the first `pairs` rows of a shipped world; the fraction `mismatched` of them shows another scene."""
    table = pq.read_table(WORLDS / ("cut.parquet" if cut else "uncut.parquet"))
    known = pa.scalar(mismatched, pa.float32())
    shown = pc.and_(pc.less_equal(table["mismatched_from"], known), pc.greater(table["matched_below"], known))
    return _of_consistency(table.filter(shown), consistency).sort_by("index").slice(0, pairs)


def read_rated_captions(consistency: float) -> pa.Table:
    """Return captions that are in no pool, with their planted concreteness."""
    return _of_consistency(pq.read_table(WORLDS / "rated.parquet"), consistency)


def _of_consistency(table: pa.Table, consistency: float) -> pa.Table:
    """Return the rows of the world with this consistency; worlds share the pairs that it does not change."""
    known = pa.scalar(consistency, pa.float32())
    return table.filter(pc.and_(pc.less_equal(table["least"], known), pc.greater_equal(table["most"], known)))
