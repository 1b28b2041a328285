"""Each stage that `make perf` measures, run on a few pairs."""

from pathlib import Path

import pytest

from bench.processes import call
from bench.stages import STAGES, Stage


@pytest.mark.slow
@pytest.mark.parametrize("stage", STAGES, ids=lambda stage: stage.work)
def test_a_stage_runs_on_a_few_pairs(stage: Stage, tmp_path: Path) -> None:
    stage.write(str(tmp_path), max(8, stage.smallest // 500))
    cache = tmp_path / "cache"
    cached = set(cache.rglob("*"))
    assert call(stage.run, [str(tmp_path), *stage.arguments]).cpu_seconds > 0
    assert set(cache.rglob("*")) == cached  # measured again, it would find its own results
