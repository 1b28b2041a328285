"""Published scores by name: each entry is composed and scores made rows of its layout; licences are named."""

import dataclasses
import logging
from collections import Counter
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from benchmark.core.errors import UserError
from benchmark.core.requirements import State
from benchmark.core.uids import UidArray, encode_uids
from benchmark.engine.local import LocalEngine
from benchmark.pool.pool import Pool
from benchmark.run.config import make_filter
from benchmark.scoring.score_pool import score_pool
from filters.published.entries import published, registry, terms_of
from filters.score_file import ScoreFile
from filters.uid_list import UidList
from tests.filters.test_every_filter import composed
from tests.pools import rows, write_metadata
from tests.servers import Behaviour, hub_server

PAIRS = rows(6)
KEYS = {"uid": [row.uid for row in PAIRS], "url": [row.url for row in PAIRS]}


def write(path: Path, name: str) -> pa.Table:
    """Write rows of five of the six pairs in an entry's layout; return them."""
    entry = registry()[name]
    columns = [entry.column] if isinstance(entry.column, str) else entry.column
    numbers = np.random.default_rng(0).normal(size=(len(columns), 5))
    key = entry.key or "uid"
    table = pa.table({key: KEYS[key][:5]} | dict(zip(columns, numbers, strict=True)))
    path.parent.mkdir(parents=True, exist_ok=True)
    pq.write_table(table, path)
    return table


@pytest.fixture
def pool(tmp_path: Path) -> Pool:
    write_metadata(tmp_path / "pool" / "0.parquet", PAIRS)
    return Pool("p", str(tmp_path / "pool"))


@pytest.mark.parametrize("name", registry())
def test_every_entry_scores_rows_of_its_layout(name: str, tmp_path: Path, pool: Pool) -> None:
    table = write(tmp_path / "0.parquet", name)
    scorer = make_filter(
        composed("filter=published", f"filter.name={name}", f"filter.path={tmp_path / '0.parquet'}")
    )
    found = score_pool(pool, scorer, LocalEngine("cpu", 1)).of_uids(pool_uids(pool)).scores
    assert np.isnan(found[5])
    entry = registry()[name]
    if entry.weights:
        columns = [np.array(table[column]) for column in entry.column]  # as they are
        expected = np.add.reduce([w * column for w, column in zip(entry.weights, columns, strict=True)])
    else:
        expected = np.array(table[entry.column]) if entry.column else np.ones(5)
    assert found[:5] == pytest.approx(expected)
    assert isinstance(scorer, ScoreFile if entry.column else UidList)


def pool_uids(pool: Pool) -> UidArray:
    (batch,) = pool.batches(pool.metadata[0], frozenset(), 10, Counter())
    return batch.uids


@pytest.mark.parametrize("name", registry())
def test_every_entry_says_what_it_is(name: str) -> None:
    entry = registry()[name]
    assert entry.path.startswith("hf://datasets/")
    assert entry.revision is None or len(entry.revision) == 40
    assert entry.looked_up.endswith(".")
    assert len(entry.weights or entry.column or []) == len(entry.column) or isinstance(entry.column, str)
    for field in dataclasses.fields(entry):
        assert getattr(entry, field.name) != "", field.name


def test_a_wrong_name_is_corrected() -> None:
    with pytest.raises(
        UserError, match=r"filter\.name=flyt/dfn-base is not published here; did you mean 'flyt/dfn_"
    ):
        published("flyt/dfn-base")
    with pytest.raises(UserError, match=r"filter\.coverage is for scores"):
        published("datacomp/datacomp_1b", coverage=0.5)


def test_a_download_is_named_with_size_and_licence_and_then_local(
    tmp_path: Path, pool: Pool, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    name = "apple/datacomp_12m"
    folder = tmp_path / "datasets" / "apple" / "DataComp-12M"  # which has the uids in two formats
    folder.mkdir(parents=True)
    np.save(folder / "uids.npy", encode_uids(KEYS["uid"][:5]))
    (folder / "uids.txt").write_text("\n".join(KEYS["uid"][:5]))
    with hub_server(tmp_path, behaviour := Behaviour(), monkeypatch):
        (needed,) = published(name).requirements()
        assert needed.state is State.FIRST_USE
        assert needed.size > 100
        assert "1 files, 0 MB" in needed.detail
        assert "it forbids commercial use" in needed.detail
        caplog.set_level(logging.WARNING)
        streamed = score_pool(pool, published(name), LocalEngine("cpu", 1)).scores
        assert "download of hf://datasets/apple/DataComp-12M/uids.npy: licence Apple's own" in caplog.text
        assert needed.make
        needed.make()
        asked = len(behaviour.gets)
        (here,) = published(name).requirements()
        copied = score_pool(pool, published(name), LocalEngine("cpu", 1)).scores
        assert here.state is State.PRESENT
        assert np.array_equal(copied, streamed, equal_nan=True)
        assert len(behaviour.gets) == asked


def test_licences_of_all_parts_are_found() -> None:
    part = {"_target_": "filters.published.entries.published", "name": "apple/datacomp_12m"}
    settings = {"filters": {"first": part, "last": {"_target_": "filters.random.Random"}}, "more": [part]}
    assert len(terms_of(settings)) == 2
    assert "forbids commercial use" in terms_of(settings)[0]
