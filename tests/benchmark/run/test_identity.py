"""The id of a run: the published results keep theirs, and a quick try has another."""

from pathlib import Path

import pytest

from benchmark.cli.overrides import normalised
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


@pytest.mark.parametrize("name", ["sba", "vba", "icc"])
def test_icc_keeps_its_ids_until_it_is_read_otherwise(name: str) -> None:
    overrides = [f"filter={name}", "size=200k"]
    ours = make_run_id(make_job(*overrides), None)
    assert (REFERENCE / f"{ours}.json").is_file()
    assert ours != make_run_id(
        make_job(*overrides, "icc.decoding.vba.returned=1", "icc.decoding.sba.together=2"), None
    )


def test_the_released_reading_sets_five_settings() -> None:
    cfg = make_job(*normalised(["filter=icc", "icc.reading=release"])).cfg
    assert (cfg.models.icc.max_new_tokens, cfg.models.image_captioner.max_new_tokens) == (1024, 20)
    assert cfg.filter.pipelines.sba.decoding == {"first_token": "eos", "together": 2}
    assert cfg.filter.pipelines.vba.decoding == {"returned": 1}


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
