"""Every stage on as many pairs as the paper's pool has, once, with embeddings as wide as CLIP's: within 2 GiB.

It takes over an hour and 60 GB of disk, so `make perf-8m` runs it and `make perf` does not.

python -m pytest -m perf -s tests/perf/eight_million.py
"""

import shutil
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path

import pytest

from tests.perf.corpus_statistics import write_features
from tests.perf.measured_once import measure_once
from tests.perf.measurement import measure
from tests.perf.stages import STAGES
from tests.perf.written_results import write_results

pytestmark = pytest.mark.perf
PAIRS, WIDTH = 8_000_000, 512
GIB = 2  # of memory that is in no file
OF_PAIRS = [stage for stage in STAGES if stage.write is not write_results]
WRITERS = list(dict.fromkeys(stage.write for stage in OF_PAIRS))


@pytest.fixture(scope="module", params=WRITERS, ids=lambda write: write.__name__)
def pool(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[tuple[Callable[..., object], Path]]:
    """A pool, removed before the next one is written: together they would take 80 GB."""
    folder = tmp_path_factory.mktemp("pool")
    write = partial(write_features, width=WIDTH) if request.param is write_features else request.param
    write(str(folder), PAIRS)
    yield request.param, folder
    shutil.rmtree(folder)


def test_stages_in_two_gib(pool: tuple[Callable[..., object], Path]) -> None:
    write, folder = pool
    rows = []
    for stage in (stage for stage in OF_PAIRS if stage.write is write):
        work = f"{stage.work.replace('64', str(WIDTH))}: {PAIRS:,} pairs"
        rows.append(
            measure_once(work, partial(measure, stage.run, str(folder), *stage.arguments), f"{GIB} GiB")
        )
    assert [row.work for row in rows if row.usage.anonymous_gib > GIB] == []
