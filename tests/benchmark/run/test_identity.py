"""The id of a run: the published results keep theirs, a quick try has another, and a pool is its content."""

import shutil
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from benchmark.cli.overrides import normalised
from benchmark.run.config import CONF
from benchmark.run.identity import make_protocol, make_run_id, run_facts, training_input
from benchmark.run.job import Job
from tests.jobs import make_job
from tests.pools import rows, write_metadata, write_pool

REFERENCE = Path(__file__).resolve().parents[3] / "results" / "reference"


@pytest.fixture
def job() -> Job:
    return make_job("filter=random", "size=200k")


def test_published_results_keep_their_ids(job: Job) -> None:
    assert (REFERENCE / f"{make_run_id(job, None)}.json").is_file()


def test_a_run_is_grouped_by_its_columns(small_demo: list[str]) -> None:
    job = make_job("filter=random", "size=200k", *small_demo)
    protocol = make_protocol(job)
    columns = run_facts(job, "id", 10, protocol).columns
    named = {"filter_name": "random", "pool_name": "demo", "size_name": "200k", "seed": 0}
    assert columns.items() >= named.items()
    assert columns["protocol_fingerprint"] == protocol.fingerprint
    assert "protocol_name" not in run_facts(job, "id", 10).columns  # of a task that evaluates nothing


@pytest.mark.parametrize("name", ["vba", "icc"])
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


def test_runs_of_a_stream_are_other_runs(job: Job) -> None:
    indexed = make_run_id(job, None)
    training = job.cfg.downstream.captioner.training
    shuffled, training.shuffle_mib = training.shuffle_mib, 8
    assert make_run_id(job, None) == indexed
    training.source = "stream"
    streams = {make_run_id(job, None)}
    training.shuffle_mib = shuffled
    assert indexed not in streams
    assert make_run_id(job, None) not in streams


def test_a_cache_within_the_checkout_changes_no_id(job: Job, monkeypatch: pytest.MonkeyPatch) -> None:
    elsewhere = make_run_id(job, None)
    monkeypatch.setenv("XDG_CACHE_HOME", str(CONF.parent / ".cache"))
    assert make_run_id(job, None) == elsewhere


def pool_id(url: str, *overrides: str) -> str:
    return make_run_id(make_job("pool=img2dataset", f"pool.url={url}", "filter=random", *overrides), None)


def test_spellings_and_copies_of_a_pool_are_one_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    write_pool(tmp_path / "pool", [rows(3)])
    shutil.copytree(tmp_path / "pool", tmp_path / "copy", copy_function=shutil.copyfile)
    (tmp_path / "link").symlink_to("pool")
    spellings = ("pool", "./pool", "pool/", str(tmp_path / "pool"), f"file://{tmp_path}/pool", "link", "copy")
    assert len({pool_id(url) for url in spellings}) == 1


def test_pools_of_one_spelling_are_two_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    ids = set()
    for start in (0, 3):
        folder = write_pool(tmp_path / str(start) / "p", [rows(3, start=start)])
        monkeypatch.chdir(folder.parent)
        ids.add(pool_id("p"))
    assert len(ids) == 2


def test_a_file_of_a_pool_that_changes_makes_another_run(tmp_path: Path) -> None:
    url = str(write_pool(tmp_path / "pool", [rows(3)]))
    before = pool_id(url)
    write_metadata(tmp_path / "pool" / "metadata" / "00000000.parquet", rows(2))
    assert pool_id(url) != before


def test_other_captions_of_the_same_uids_are_trained_on_again(tmp_path: Path) -> None:
    pools = {name: write_pool(tmp_path / name, [rows(3)]) for name in ("pool", "copy", "recaptioned")}
    table = pa.table({"uid": [row.uid for row in rows(3)], "text": ["another", "caption", "each"]})
    pq.write_table(table, pools["recaptioned"] / "metadata" / "00000000.parquet")
    jobs = [make_job("pool=img2dataset", f"pool.url={url}", "filter=random") for url in pools.values()]
    first, of_copy, recaptioned = (training_input(job, "uids") for job in jobs)
    assert first == of_copy != recaptioned
    assert training_input(jobs[0], "others") != first
