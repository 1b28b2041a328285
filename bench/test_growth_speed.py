"""Every stage at four sizes: how processor seconds and memory grow with the pool.

python -m pytest -m perf -s bench/test_growth_speed.py
"""

from pathlib import Path

import pytest

from bench.growth import growth
from bench.measurement import Usage, measure
from bench.stages import STAGES, Stage, Write

pytestmark = pytest.mark.perf
LINEAR = 1.15  # an exponent of 1, and the difference of two measurements


class Pools:
    """Pools of several sizes, each written once."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def written(self, write: Write, pairs: int) -> str:
        """Return the folder of a pool."""
        folder = self._folder / f"{write.__name__}-{pairs}"
        if not folder.exists():
            folder.mkdir()
            write(str(folder), pairs)
        return str(folder)


@pytest.fixture(scope="module")
def pools(tmp_path_factory: pytest.TempPathFactory) -> Pools:
    return Pools(tmp_path_factory.mktemp("pools"))


@pytest.mark.parametrize("stage", STAGES, ids=lambda stage: stage.work)
def test_a_stage_grows_with_the_pool(stage: Stage, pools: Pools) -> None:
    def usage(pairs: int) -> Usage:
        return measure(stage.run, pools.written(stage.write, pairs), *stage.arguments)

    row = growth(stage.work, stage.sizes, usage)
    assert row.exponent < LINEAR
    assert row.anonymous_bytes_per_pair < stage.bytes_per_pair
