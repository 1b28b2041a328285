"""The id of a run: the published results keep theirs, a quick try has another, and a pool is its content."""

import shutil
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from omegaconf import OmegaConf

from benchmark.cli.overrides import normalised
from benchmark.run.config import CONF
from benchmark.run.identity import make_protocol, make_run_id, run_facts, training_input
from benchmark.run.job import Job
from tests.jobs import make_job
from tests.pools import rows, write_metadata, write_pool

REFERENCE = Path(__file__).resolve().parents[3] / "results" / "reference"


@pytest.fixture(scope="module")
def made() -> Job:
    return make_job("filter=random", "size=200k")


@pytest.fixture
def job(made: Job) -> Job:
    """A job with a configuration that a test may change."""
    return replace(made, cfg=made.cfg.copy(), built={})


def run_id(job: Job) -> str:
    return make_run_id(replace(job, built={}), None)


@pytest.mark.parametrize("name", ["random", "vba", "icc"])
def test_published_results_keep_their_ids(name: str) -> None:
    job = make_job(f"filter={name}", "size=200k")
    ours = run_id(job)
    assert (REFERENCE / f"{ours}.json").is_file()
    for fraction in (0.0, 0.01, 0.02, 0.05):
        mismatched = run_id(make_job(f"filter={name}", "size=200k", f"pool.demo.mismatched={fraction}"))
        assert mismatched != ours
        assert (REFERENCE / f"{mismatched}.json").is_file()
    if name != "random":  # until ICC is read otherwise
        job.cfg.icc.decoding = {"vba": {"returned": 1}, "sba": {"together": 2}}
        assert run_id(job) != ours


def test_the_released_reading_sets_five_settings() -> None:
    cfg = make_job(*normalised(["filter=icc", "icc.reading=release"])).cfg
    assert (cfg.models.icc.max_new_tokens, cfg.models.image_captioner.max_new_tokens) == (1024, 20)
    assert cfg.filter.pipelines.sba.decoding == {"first_token": "eos", "together": 2}
    assert cfg.filter.pipelines.vba.decoding == {"returned": 1}


def test_a_quick_try_or_a_stream_is_another_run(job: Job, monkeypatch: pytest.MonkeyPatch) -> None:
    ids = [run_id(job)]
    with monkeypatch.context() as patch:
        patch.setenv("XDG_CACHE_HOME", str(CONF.parent / ".cache"))
        assert run_id(job) == ids[0], "a cache within the checkout"
    OmegaConf.update(job.cfg, "evalset.coco.source", {"size": 1}, force_add=True)
    assert run_id(job) == ids[0], "its data come from elsewhere"
    training = job.cfg.downstream.captioner.training
    shuffled, training.shuffle_mib = training.shuffle_mib, 8
    assert run_id(job) == ids[0], "only a stream is shuffled so"
    training.source = "stream"
    ids.append(run_id(job))
    training.shuffle_mib = shuffled
    ids.append(run_id(job))
    for limit in (5, 6):
        job.cfg.evalset.limit = limit
        ids.append(run_id(job))
    assert len(set(ids)) == 5


@pytest.fixture(scope="module")
def of_pool() -> Callable[[str | Path], Job]:
    """Returns the job of a run on the pool at a URL."""
    job = make_job("pool=img2dataset", "pool.url=/p", "filter=random", "size=200k", "models=demo")

    def with_url(url: str | Path) -> Job:
        other = replace(job, cfg=job.cfg.copy(), built={})
        other.cfg.pool.url = str(url)
        return other

    return with_url


OfPool = Callable[[str | Path], Job]


def test_a_pool_is_its_files_not_its_spelling(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, of_pool: OfPool
) -> None:
    monkeypatch.chdir(tmp_path)
    write_pool(tmp_path / "pool", [rows(3)])
    shutil.copytree(tmp_path / "pool", tmp_path / "copy", copy_function=shutil.copyfile)
    ids = {run_id(of_pool(url)) for url in ("pool", f"file://{tmp_path}/pool", "copy")}
    assert len(ids) == 1
    write_metadata(tmp_path / "pool" / "metadata" / "00000000.parquet", rows(2))
    ids.add(run_id(of_pool("pool")))
    monkeypatch.chdir(write_pool(tmp_path / "other" / "pool", [rows(3, start=3)]).parent)
    assert len(ids | {run_id(of_pool("pool"))}) == 3


def test_other_captions_of_the_same_uids_are_trained_on_again(tmp_path: Path, of_pool: OfPool) -> None:
    pools = {name: write_pool(tmp_path / name, [rows(3)]) for name in ("pool", "copy", "recaptioned")}
    table = pa.table({"uid": [row.uid for row in rows(3)], "text": ["another", "caption", "each"]})
    pq.write_table(table, pools["recaptioned"] / "metadata" / "00000000.parquet")
    jobs = [of_pool(url) for url in pools.values()]
    first, of_copy, recaptioned = (training_input(job, "uids") for job in jobs)
    assert first == of_copy != recaptioned
    assert training_input(jobs[0], "others") != first


def test_a_run_is_grouped_by_its_columns(tmp_path: Path, of_pool: OfPool) -> None:
    job = of_pool(write_pool(tmp_path / "pool", [rows(3)]))
    job.leave_out_evaluation_sets()
    protocol = make_protocol(job)
    columns = run_facts(job, "id", 10, protocol).columns
    named = {"filter_name": "random", "pool_name": "img2dataset", "size_name": "200k", "seed": 0}
    assert columns.items() >= named.items()
    assert columns["protocol_fingerprint"] == protocol.fingerprint
    assert "protocol_name" not in run_facts(job, "id", 10).columns  # of a task that evaluates nothing
