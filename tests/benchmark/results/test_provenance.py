import json
import subprocess
from pathlib import Path

import pytest

from benchmark.core import source_code
from benchmark.core.paths import REFERENCE_RESULTS
from benchmark.core.source_code import git_commit
from benchmark.results.provenance import machine, processor


def git(folder: Path, *words: str) -> None:
    author = ["-c", "user.name=a", "-c", "user.email=a@b"]
    subprocess.run(["git", "-C", str(folder), *author, *words], check=True, capture_output=True)


def test_changed_code_is_dirty_and_new_results_are_not(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(source_code, "PROJECT", tmp_path)
    assert git_commit() is None
    for name in ("filters", "results"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "file").write_text("old")
    git(tmp_path, "init")
    git(tmp_path, "add", ".")
    git(tmp_path, "commit", "-m", "first")
    (tmp_path / "results" / "file").write_text("new")
    clean = git_commit()
    assert len(clean or "") == 40
    (tmp_path / "filters" / "file").write_text("new")
    assert git_commit() == f"{clean}-dirty"


@pytest.mark.skipif(not Path("/proc/cpuinfo").is_file(), reason="the processor is read on Linux only")
def test_the_machine_names_its_processor() -> None:
    assert processor() in machine()


def test_published_results_come_from_clean_commits() -> None:
    commits = {p.stem: json.loads(p.read_text())["git_commit"] for p in REFERENCE_RESULTS.glob("*.json")}
    assert {name for name, commit in commits.items() if not commit or commit.endswith("-dirty")} == set()
