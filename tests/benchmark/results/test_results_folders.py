"""Several results folders as one."""

import logging
from dataclasses import replace
from pathlib import Path

import pytest

from benchmark.core.records import write_record
from benchmark.results.result import Evaluation, Result
from benchmark.results.results_folders import ResultsFolders
from pairsift.studies.profile.profiling import Profile
from pairsift.studies.profile.web_likeness.caption_profile import CaptionProfile
from tests.benchmark.results.report.made_results import captioned


def run(cider: float, finished: str, name: str = "clip") -> Result:
    return captioned(name, cider, finished=finished)


@pytest.mark.parametrize("order", [("a", "b"), ("b", "a")])
def test_the_run_that_finished_last_counts(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, order: tuple[str, str]
) -> None:
    write_record(tmp_path / "a", run(0.1, "2026-01-01"))
    newer = write_record(tmp_path / "b", run(0.2, "2026-01-02"))
    write_record(tmp_path / "b", run(0.3, "2026-01-01", "icc"))
    with caplog.at_level(logging.WARNING):
        runs = ResultsFolders([tmp_path / name for name in order]).read(Result)
    assert runs[newer] == run(0.2, "2026-01-02")
    assert sorted(made.filter for made in runs.values()) == ["clip", "icc"]
    (warning,) = caplog.messages
    assert warning.endswith(f"{newer} finished last and counts")


def test_equal_metrics_need_no_warning(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    write_record(tmp_path / "a", run(0.1, "1"))
    write_record(tmp_path / "b", replace(run(0.1, "2"), machine="another"))
    (made,) = ResultsFolders([tmp_path / "a", tmp_path / "b", tmp_path / "a"]).read(Result).values()
    assert (made.machine, caplog.messages) == ("another", [])


def test_records_of_every_kind_are_merged(tmp_path: Path) -> None:
    for folder, finished in (("a", "2"), ("b", "1")):
        write_record(tmp_path / folder, Evaluation("e", "e", {}, {}, {}, finished=finished))
    source = ResultsFolders([tmp_path / "a", tmp_path / "b", tmp_path / "absent"])
    assert [made.finished for made in source.read(Evaluation).values()] == ["2"]
    assert source.left_out == {}


def test_a_file_that_two_kinds_cannot_read_is_left_out_once(tmp_path: Path) -> None:
    path = tmp_path / "profile" / "broken.json"
    path.parent.mkdir()
    path.write_text("[]")
    source = ResultsFolders([tmp_path])
    assert {**source.read(Profile), **source.read(CaptionProfile)} == {}
    assert list(source.left_out) == [path]
