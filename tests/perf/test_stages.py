"""Each stage that `make perf` measures, run on a few pairs."""

import json
from pathlib import Path

import pytest

from tests.perf.measurement import call
from tests.perf.stages import STAGES, Stage


@pytest.mark.slow
@pytest.mark.parametrize("stage", STAGES, ids=lambda stage: stage.work)
def test_a_stage_runs_on_a_few_pairs(stage: Stage, tmp_path: Path) -> None:
    stage.write(str(tmp_path), max(8, stage.smallest // 500))
    name = f"{stage.run.__module__}:{stage.run.__qualname__}"
    assert call(name, json.dumps([str(tmp_path), *stage.arguments])).cpu_seconds > 0
