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
from hydra import compose, initialize_config_dir
from hydra.core.hydra_config import HydraConfig
from omegaconf import DictConfig

from benchmark.core import source_code
from benchmark.core.records import write_record
from benchmark.core.source_code import code_hash
from benchmark.core.uids import write_subset
from benchmark.models.checkpoints import revision
from benchmark.pool.other_captions import CaptionSources
from benchmark.results.protocol import Protocol
from benchmark.results.result import Result
from benchmark.run.choose import choose, subset_path
from benchmark.run.config import CONF, make_filter, make_pool, register_resolvers, resolved
from benchmark.run.earlier_result import earlier_result
from benchmark.run.run_id import make_run_id
from benchmark.scoring.score_folder import score_paths
from benchmark.scoring.score_parts import write_part
from downstream.metrics.metric import FAILED
from tests.benchmark.results.report.made_results import metric, protocol, result, trained
from tests.filters.checkpoints import roberta_scorer
from tests.pools import numbered_uids, rows, write_pool

Settings = Callable[..., DictConfig]


@pytest.fixture
def settings(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Settings:
    """Returns the configuration of a run on a small pool, with these overrides."""
    register_resolvers()
    pool = [f"pool.url={write_pool(tmp_path / 'pool', [rows(4)])}", "pool=img2dataset", "size.samples=2"]
    pool += [f"~evalset.{name}" for name in ("coco", "nocaps", "flickr30k")]

    def composed(*overrides: str) -> DictConfig:
        with initialize_config_dir(str(CONF), version_base="1.3"):
            cfg = compose(
                "config",
                ["filter=random", *pool, f"results_dir={tmp_path / 'r'}", *overrides],
                return_hydra_config=True,
            )
        monkeypatch.setattr(HydraConfig.instance(), "cfg", cfg)
        return cfg

    return composed


def look(cfg: DictConfig, now: Protocol | None = None) -> Path | None:
    pool = make_pool(cfg)
    return earlier_result(
        cfg,
        pool,
        CaptionSources(pool, **resolved(cfg.captions)),
        lambda: now or protocol(),
        lambda: choose(cfg, pool),
    )


def made(cfg: DictConfig, captions: str | None = None) -> tuple[Path, Result]:
    """Write the result that a run would have left."""
    subset = str(subset_path(cfg, make_pool(cfg), make_filter(cfg)))
    left = replace(result("random"), run_id=make_run_id(cfg, captions), subset=subset)
    return write_record(Path(cfg.results_dir), left), left


def test_a_result_of_the_same_run_is_there(settings: Settings, caplog: pytest.LogCaptureFixture) -> None:
    cfg = settings()
    assert look(cfg) is None
    path, _ = made(cfg)
    caplog.set_level("INFO")
    assert look(cfg) == path
    assert "delete it to make it again" in caplog.text
    assert look(settings("seed=1")) is None
    assert look(settings("results_dir=/nowhere")) is None


def test_another_protocol_or_schema_is_made_again(
    settings: Settings, caplog: pytest.LogCaptureFixture
) -> None:
    cfg = settings()
    path, _ = made(cfg)
    caplog.set_level("INFO")
    assert look(cfg, protocol(**{"metric.CIDEr": "2"})) is None
    assert "is made again: metric.CIDEr 2 instead of none" in caplog.text
    older = json.loads(path.read_text()) | {"schema_version": Result.SCHEMA.version - 1}
    path.write_text(json.dumps(older))
    assert look(cfg) is None
    assert "is made again: run record of the older schema version" in caplog.text


def test_a_result_with_a_failed_metric_is_made_again(
    settings: Settings, caplog: pytest.LogCaptureFixture
) -> None:
    cfg = settings()
    path, left = made(cfg)
    failed = metric("CIDEr", None, f"{FAILED}TypeError: a bug")
    write_record(path.parent, replace(left, downstream={"captioner": trained(coco=[failed])}))
    caplog.set_level("INFO")
    assert look(cfg) is None
    assert "is made again: captioner/coco/CIDEr failed" in caplog.text


def test_other_weights_of_the_filter_are_made_again(settings: Settings, tmp_path: Path) -> None:
    cfg = settings("filter=icc", f"filter.checkpoint={roberta_scorer(tmp_path / 'icc')}")
    path, _ = made(cfg)
    assert look(cfg) == path
    (weights,) = (tmp_path / "icc").glob("*.safetensors")
    weights.write_bytes(weights.read_bytes()[:-1] + b"?")
    revision.cache_clear()  # as in the next command
    assert look(cfg) is None


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
    cfg = settings("filter._target_=own_filter.Mine", "engine.workers=1")
    path, left = made(cfg)
    chosen = choose(cfg, make_pool(cfg))
    write_record(path.parent, replace(left, selection=chosen.manifest))
    caplog.set_level("INFO")

    own_filter("text[-1]", "text[-1:]")
    assert look(cfg) == path
    assert "code or weights have changed since, selects the same pairs" in caplog.text
    assert (chosen.table.reused, choose(cfg, make_pool(cfg)).table.reused) == (0, 1)

    own_filter("float(text", "-float(text")
    assert look(cfg) is None
    assert "code or weights have changed since, selects other pairs" in caplog.text


def test_scores_are_made_anew_on_demand(settings: Settings, own_filter: Callable[..., None]) -> None:
    cfg = settings("filter._target_=own_filter.Mine", "engine.workers=1")
    path, left = made(cfg)
    chosen = choose(cfg, make_pool(cfg))
    write_record(path.parent, replace(left, selection=chosen.manifest))
    anew = settings("filter._target_=own_filter.Mine", "engine.workers=1", "rescore=true")
    assert choose(anew, make_pool(anew)).table.reused == 0
    assert look(anew) == path
    (part,) = score_paths(make_pool(cfg), make_filter(cfg)).values()
    write_part(part, chosen.table.uids, -chosen.table.scores, {}, {})
    assert choose(cfg, make_pool(cfg)).selection.sha256 != chosen.selection.sha256, (
        "the cache has other scores"
    )
    assert choose(anew, make_pool(anew)).selection.sha256 == chosen.selection.sha256


def test_jobs_of_a_sweep_score_anew_once(settings: Settings, tmp_path: Path) -> None:
    def reused(sweep: str) -> int:
        of_sweep = ["hydra.mode=MULTIRUN", f"hydra.sweep.dir={tmp_path / sweep}"]
        (tmp_path / sweep).mkdir(exist_ok=True)
        cfg = settings("engine.workers=1", "rescore=true", *of_sweep)
        return choose(cfg, make_pool(cfg)).table.reused

    choose(cfg := settings("engine.workers=1"), make_pool(cfg))
    assert [reused("first"), reused("first"), reused("second")] == [0, 1, 0]


def test_several_epochs_are_one_selection(settings: Settings) -> None:
    cfg = settings()
    path, left = made(cfg)
    first = Path(left.subset).with_stem(f"{Path(left.subset).stem}-epoch000")
    write_record(path.parent, replace(left, subset=str(first)))
    assert look(cfg) == path


def test_other_captions_are_those_of_the_cached_selection(settings: Settings, tmp_path: Path) -> None:
    file = tmp_path / "captions.parquet"
    pq.write_table(pa.table({"uid": [f"{0:032x}"], "caption": ["a dog"]}), file)
    cfg = settings(f"captions.files=[{file}]")
    uids = numbered_uids(2)
    captions = CaptionSources(make_pool(cfg), files=[str(file)]).of(uids).sha256
    path, left = made(cfg, captions)
    assert look(cfg) is None, "which pairs are selected is not known before they are scored"
    write_subset(Path(left.subset), uids)
    assert look(cfg) == path
    pq.write_table(pa.table({"uid": [f"{0:032x}"], "caption": ["a cat"]}), file)
    assert look(cfg) is None
