"""Embeddings of a corpus read from files, compared with reading into memory. Growth of fits: test_growth_speed.py."""

from functools import partial
from pathlib import Path

import pytest

from bench.corpus_statistics import gather, rows, write_features
from bench.measurement import compare, measure

pytestmark = pytest.mark.perf
PAIRS, WIDTH = 320_000, 512


def test_all_embeddings_are_read_from_files(tmp_path: Path) -> None:
    write_features(str(tmp_path), PAIRS, WIDTH)
    ours, reference = (partial(measure, way, str(tmp_path)) for way in (rows, gather))
    work = f"read {PAIRS:,} pairs of {WIDTH}-wide embeddings by uid"
    row = compare(work, ours, "all of them in memory", reference)
    assert row.ours.anonymous_gib < row.of_reference.anonymous_gib - 0.5
