"""A new user's walk: parts in files of his own, scores, a subset, a run, the report."""

import json
import re
import subprocess
import sys
from pathlib import Path

import pytest

from benchmark.core.uids import read_subset
from tests.command_line import Run
from tests.demos import SMALL_RUN
from tests.own_parts import assert_all_kinds, own_run, write_own_parts

pytestmark = pytest.mark.slow


def test_from_a_file_to_the_leaderboard(
    run: Run, small_demo: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", [*sys.path])
    file = write_own_parts(tmp_path)
    pool = [*small_demo, "size.samples=20000", "engine.workers=1"]
    own = "filter=my_filters:NearLength"

    def printed(*arguments: str) -> list[str]:
        done = run(*arguments)
        assert done.returncode == 0, done.stderr
        return done.stdout.splitlines()

    counted, parts = printed("task=score", *pool, own)
    assert counted.startswith("scored 2,000 pairs")
    assert len(list(Path(parts).glob("*.parquet"))) == 4

    (subset,) = printed("task=select", *pool, own)
    assert len(read_subset(Path(subset))) == 200

    path = printed(*small_demo, *SMALL_RUN, own)[-1]
    assert re.fullmatch(r"demo-NearLength-20k-seed0-\w{8}\.json", Path(path).name)
    result = json.loads(Path(path).read_text())
    assert (result["filter"], result["subset"], result["scoring"]["reused"]) == ("NearLength", subset, 1)
    assert result["config"]["filter"] == {
        "_target_": "my_filters.NearLength", "words": 10, "minimum": None, "maximum": None, "rank": True,
    }  # fmt: skip

    report = Path(printed("task=report", "results_dir=results")[-1]).read_text()
    assert re.search(r"^\| NearLength( \(draw of \d+%\))? \|", report, re.MULTILINE)

    path = printed(*small_demo, "size.samples=20000", *own_run(tmp_path))[-1]
    assert_all_kinds(json.loads(Path(path).read_text()))

    file.write_text(file.read_text().replace("return -np", "return np"))
    again = [sys.executable, "-m", "benchmark", "task=select", *pool, own]
    edited = subprocess.run(again, capture_output=True, text=True, check=True).stdout.splitlines()[-1]
    assert not set(read_subset(Path(edited)).tolist()) & set(read_subset(Path(subset)).tolist())
