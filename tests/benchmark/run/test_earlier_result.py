"""Which results of earlier runs a sweep need not make again."""

import importlib
import json
import sys
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from benchmark.core import source_code
from benchmark.core.records import write_record
from benchmark.core.source_code import code_hash
from benchmark.core.uids import write_subset
from benchmark.pool.other_captions import CaptionSources
from benchmark.results.protocol import Protocol
from benchmark.results.result import Result
from benchmark.run import identity
from benchmark.run import run as run_module
from benchmark.run.identity import earlier_result, make_run_id
from benchmark.run.job import Job
from benchmark.run.output import Finished
from benchmark.run.score import score_pairs
from benchmark.run.select import Selected, select_pairs, subset_path
from benchmark.scoring.score_folder import score_paths
from benchmark.scoring.score_parts import write_part
from downstream.metrics.metric import FAILED
from tests.benchmark.results.report.made_results import metric, protocol, result, trained
from tests.jobs import make_job
from tests.pools import numbered_uids, rows, write_pool

Settings = Callable[..., Job]


@pytest.fixture
def settings(tmp_path: Path) -> Settings:
    """Returns the job of a run on a small pool, with these overrides."""
    url = str(write_pool(tmp_path / "pool", [rows(4)]))

    def job(*overrides: str, sweep: Path | None = None) -> Job:
        common = ["filter=random", "pool=img2dataset", "size.samples=2", f"pool.url={url}"]
        made = make_job(*common, f"results_dir={tmp_path / 'r'}", *overrides, sweep=sweep)
        made.leave_out_evaluation_sets()
        return made

    return job


def select(job: Job) -> Selected:
    """As by the same command, typed again."""
    again = replace(job, built={})
    return select_pairs(again, score_pairs(again))


def look(job: Job, now: Protocol | None = None) -> Path | None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(identity, "make_protocol", lambda _: now or protocol())
        return earlier_result(replace(job, built={}), lambda: select(job))


def made(job: Job, captions: str | None = None) -> tuple[Path, Result]:
    """Write the result that a run would have left."""
    left = replace(result("random"), run_id=make_run_id(job, captions), subset=str(subset_path(job)))
    return write_record(job.results_dir, left), left


def test_a_result_of_the_same_run_is_there(settings: Settings, caplog: pytest.LogCaptureFixture) -> None:
    job = settings()
    assert look(job) is None
    path, _ = made(job)
    caplog.set_level("INFO")
    assert look(job) == path
    assert "delete it to make it again" in caplog.text
    assert look(settings("seed=1")) is None
    job.cfg.results_dir = "/nowhere"
    assert look(job) is None


def test_a_sweep_skips_it_and_a_single_run_does_not(
    settings: Settings, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def begun(*_: object) -> None:
        raise InterruptedError

    monkeypatch.setattr(identity, "make_protocol", lambda _: protocol())
    monkeypatch.setattr(run_module, "make_protocol", lambda _: protocol())
    monkeypatch.setattr(run_module, "open_samples", begun)
    small = ["models=demo", "downstream=dual_encoder", "engine.workers=1"]
    path, _ = made(settings(*small))
    assert run_module.run(settings(*small, sweep=tmp_path)) == Finished(path, skipped=True)
    assert capsys.readouterr().out == f"{path}\n"
    for job in (settings(*small), settings(*small, "seed=1", sweep=tmp_path)):
        with pytest.raises(InterruptedError):
            run_module.run(job)
    monkeypatch.setattr(run_module, "given_up", lambda _: "poor")
    assert run_module.run(settings(*small, "task.stop=CIDEr")) == Finished(None, left_out="poor")
    assert not capsys.readouterr().out


def test_another_protocol_schema_or_a_failed_metric_is_made_again(
    settings: Settings, caplog: pytest.LogCaptureFixture
) -> None:
    job = settings()
    path, left = made(job)
    caplog.set_level("INFO")
    assert look(job, protocol(**{"metric.CIDEr": "2"})) is None
    assert "is made again: metric.CIDEr 2 instead of none" in caplog.text
    failed = metric("CIDEr", None, f"{FAILED}TypeError: a bug")
    write_record(path.parent, replace(left, downstream={"captioner": trained(coco=[failed])}))
    assert look(job) is None
    assert "is made again: captioner/coco/CIDEr failed" in caplog.text
    older = json.loads(path.read_text()) | {"schema_version": Result.SCHEMA.version - 1}
    path.write_text(json.dumps(older))
    assert look(job) is None
    assert "is made again: run record of the older schema version" in caplog.text


OWN_FILTER = """
import numpy as np
from filters.base import Filter

class Mine(Filter):
    needs = frozenset({"text"})

    def __init__(self, seed):
        self.seed = seed

    def score(self, batch):
        return np.array([float(text[-1]) for text in batch.texts], np.float32)
"""


@pytest.fixture
def own_filter(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[[str], None]]:
    """Returns a function that edits a user's filter, as between two commands."""
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.setattr(sys, "dont_write_bytecode", True)  # it would stand for an edit within the same second

    def edit(before: str = "", after: str = "") -> None:
        assert before in OWN_FILTER
        (tmp_path / "own_filter.py").write_text(OWN_FILTER.replace(before, after))
        sys.modules.pop("own_filter", None)
        code_hash.cache_clear()
        source_code._read.cache_clear()
        importlib.invalidate_caches()

    edit()
    yield edit
    edit()


def test_an_edited_filter_that_selects_the_same_pairs_stands(
    settings: Settings, own_filter: Callable[..., None], caplog: pytest.LogCaptureFixture
) -> None:
    job = settings("filter._target_=own_filter.Mine", "engine.workers=1")
    path, left = made(job)
    chosen = select(job)
    write_record(path.parent, replace(left, selection=chosen.manifest))
    caplog.set_level("INFO")
    changed = "code or weights have changed since, selects"
    own_filter("text[-1]", "text[-1:]")
    assert look(job) == path
    assert f"{changed} the same pairs" in caplog.text
    assert (chosen.table.reused, select(job).table.reused) == (0, 1)
    own_filter("float(text", "-float(text")
    assert look(job) is None
    assert f"{changed} other pairs" in caplog.text


def test_scores_are_computed_again_on_demand(
    settings: Settings, own_filter: Callable[..., None], tmp_path: Path
) -> None:
    job = settings("filter._target_=own_filter.Mine", "engine.workers=1")
    path, left = made(job)
    chosen = select(job)
    write_record(path.parent, replace(left, selection=chosen.manifest))
    forced = settings("filter._target_=own_filter.Mine", "engine.workers=1", "rescore=true")
    assert select(forced).table.reused == 0
    assert look(forced) == path
    (part,) = score_paths(job.pool, replace(job, built={}).filter).values()
    write_part(part, chosen.table.uids, -chosen.table.scores, {}, {})
    assert select(job).selection.sha256 != chosen.selection.sha256, "the cache has other scores"
    assert select(forced).selection.sha256 == chosen.selection.sha256
    rescored = []  # by the jobs of two sweeps: once by each
    for sweep in ("first", "first", "second"):
        (tmp_path / sweep).mkdir(exist_ok=True)
        rescored.append(select(replace(forced, sweep=tmp_path / sweep)).table.reused)
    assert rescored == [0, 1, 0]


def test_epochs_and_replaced_pairs_are_one_selection(settings: Settings) -> None:
    job = settings()
    path, left = made(job)
    for ending in ("-epoch000", "-readable-epoch000"):
        first = Path(left.subset).with_stem(f"{Path(left.subset).stem}{ending}")
        write_record(path.parent, replace(left, subset=str(first)))
        assert look(job) == path


def test_other_captions_are_those_of_the_cached_selection(settings: Settings, tmp_path: Path) -> None:
    file = tmp_path / "captions.parquet"
    pq.write_table(pa.table({"uid": [f"{0:032x}"], "caption": ["a dog"]}), file)
    job = settings()
    job.cfg.captions.files = [str(file)]
    uids = numbered_uids(2)
    captions = CaptionSources(job.pool, files=[str(file)]).of(uids).sha256
    path, left = made(job, captions)
    assert look(job) is None, "which pairs are selected is not known before they are scored"
    write_subset(Path(left.subset), uids)
    assert look(job) == path
    pq.write_table(pa.table({"uid": [f"{0:032x}"], "caption": ["a cat"]}), file)
    assert look(job) is None
