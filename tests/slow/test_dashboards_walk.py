"""A sweep on W&B without a key, by the command line."""

from pathlib import Path

import pytest

from tests.benchmark.results.recorded_wandb import record
from tests.command_line import Run
from tests.demos import SMALL_RUN
from tests.extras import needs_extra

pytestmark = pytest.mark.slow
FILTERS = ("random", "no_filter")


@needs_extra("dashboard")
def test_a_sweep_is_one_group(
    run: Run, small_demo: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("WANDB_DATA_DIR", str(tmp_path / "files"))
    monkeypatch.delenv("WANDB_API_KEY", raising=False)
    monkeypatch.setenv("NETRC", str(tmp_path / "netrc"))

    recorded = record(monkeypatch)
    done = run(f"filter={','.join(FILTERS)}", *small_demo, *SMALL_RUN, "tracker=wandb", "validate_every=128")
    assert done.returncode == 0, done.stderr
    runs = {logged.config["filter_name"]: logged for logged in recorded.values()}
    assert [*runs] == [*FILTERS]
    assert len({logged.run.group for logged in recorded.values()}) == 1
    assert len({logged.config["protocol_fingerprint"] for logged in recorded.values()}) == 1
    for logged in recorded.values():
        assert any("dual_encoder/loss" in row for row in logged.history)
        assert {"subset", "result"} <= set(logged.artifacts)
