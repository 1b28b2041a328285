"""The id of a run: the published results keep theirs, and a quick try has another."""

from pathlib import Path

import pytest

from benchmark.run.config import CONF
from benchmark.run.identity import make_run_id
from benchmark.run.job import Job
from tests.jobs import make_job

REFERENCE = Path(__file__).resolve().parents[3] / "results" / "reference"


@pytest.fixture
def job() -> Job:
    return make_job("filter=random", "size=200k")


def test_published_results_keep_their_ids(job: Job) -> None:
    assert (REFERENCE / f"{make_run_id(job, None)}.json").is_file()


def test_a_quick_try_is_another_run(job: Job) -> None:
    whole = make_run_id(job, None)
    job.cfg.evalset.limit = 5
    five = make_run_id(job, None)
    job.cfg.evalset.limit = 6
    assert len({whole, five, make_run_id(job, None)}) == 3


def test_a_cache_within_the_checkout_changes_no_id(job: Job, monkeypatch: pytest.MonkeyPatch) -> None:
    elsewhere = make_run_id(job, None)
    monkeypatch.setenv("XDG_CACHE_HOME", str(CONF.parent / ".cache"))
    assert make_run_id(job, None) == elsewhere
