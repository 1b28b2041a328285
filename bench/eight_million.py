"""Every stage on as many pairs as the paper's pool has, once, with embeddings as wide as CLIP's: within 2 GiB.

It takes over an hour and 60 GB of disk, so `make perf-8m` runs it and `make perf` does not.

python -m pytest -m perf -s bench/eight_million.py
python -m pytest -m perf -s bench/eight_million.py -k "normsim or clusters"
"""

import shutil
from collections.abc import Iterator
from functools import partial

import pytest

from bench.corpus_statistics import write_features, write_wide_features
from bench.measured_once import measure_once
from bench.measurement import measure
from bench.stages import STAGES, Stage
from bench.written_results import write_results

pytestmark = pytest.mark.perf
PAIRS = 8_000_000
GIB = 2  # of memory that is in no file
OF_PAIRS = [stage for stage in STAGES if stage.write is not write_results]
WIDE = {write_features: write_wide_features}


@pytest.fixture(scope="module")
def pool(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """A pool, removed before the next one is written: together they would take 80 GB."""
    folder = str(tmp_path_factory.mktemp("pool"))
    request.param(folder, PAIRS)
    yield folder
    shutil.rmtree(folder)


@pytest.mark.parametrize(
    ("pool", "stage"),
    [pytest.param(WIDE.get(stage.write, stage.write), stage, id=stage.work) for stage in OF_PAIRS],
    indirect=["pool"],
    scope="module",
)
def test_a_stage_in_two_gib(pool: str, stage: Stage) -> None:
    work = f"{stage.work.replace('64 dimensions', '512 dimensions')}: {PAIRS:,} pairs"
    row = measure_once(work, partial(measure, stage.run, pool, *stage.arguments), f"{GIB} GiB")
    assert row.usage.anonymous_gib <= GIB
