import json
from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch

from benchmark.core.batch import Batch
from benchmark.core.devices import Device
from benchmark.core.errors import UserError
from benchmark.core.records import write_record
from benchmark.engine.local import LocalEngine
from benchmark.pool.pool import Pool
from filters.base import Features, Filter, Scores
from filters.composite import Bounded, RankSum
from filters.oracle import Oracle
from filters.random import Random
from pairsift.studies.icc.concreteness.evaluation import (
    ConcretenessEvaluation,
    check_needs,
    evaluate,
    fit,
    score_texts,
    set_up,
)
from pairsift.studies.icc.concreteness.rated_texts import RatedTexts
from tests.pools import rows, write_pool


class Length(Filter):
    """Letters of a caption; none for what begins with a question mark."""

    needs = frozenset({"text"})
    batch_size = 2

    def __init__(self) -> None:
        self._batches: list[int] = []

    def score(self, batch: Batch) -> Scores:
        self._batches.append(len(batch))
        return np.array([np.nan if t.startswith("?") else len(t) for t in batch.texts], np.float32)


class Fitted(Length):
    def fit(self, batches: Iterable[Batch]) -> None:
        self._seen = [len(batch) for _ in range(2) for batch in batches]


RATED = RatedTexts("captions", "a.csv", "ab", ["a", "?", "abcd", "ab", "abc"], np.array([1.0, 9, 4, 2, 3]), 5)


def test_texts_without_a_score_are_left_out_and_counted() -> None:
    found = evaluate(Length(), RATED, name="length", config={"a": 1}, seed=0)
    assert (found.count, found.unscored, found.total) == (5, 1, 5)
    assert found.correlations["pearson"].value == pytest.approx(1)
    assert (found.benchmark, found.filter, found.sha256) == ("captions", "length", "ab")
    assert "numpy" in found.versions


class Letters(Features):
    needs = frozenset({"text"})

    def setup(self, device: Device) -> None:
        self._counts = len

    def extract(self, batch: Batch) -> dict[str, np.ndarray]:
        return {"letters": np.array([[self._counts(text)] for text in batch.texts], np.float32)}


class ByFeatures(Length):
    needs = frozenset()

    def __init__(self) -> None:
        super().__init__()
        self.features = (Letters(),)

    def score(self, batch: Batch) -> Scores:
        return batch.features["letters"][:, 0]


@pytest.mark.parametrize("parts", [1, 2])
def test_features_are_extracted_of_texts(parts: int) -> None:
    scorer = ByFeatures() if parts == 1 else RankSum({"a": ByFeatures(), "b": Length()}, {"a": 1, "b": 1})
    set_up(scorer, torch.device("cpu"))
    assert np.argsort(score_texts(scorer, ["abc", "a", "ab"])).tolist() == [1, 2, 0]


def test_each_part_of_a_composite_has_its_batch_size() -> None:
    scorer, part = Length(), Length()
    assert score_texts(scorer, RATED.texts[2:]).tolist() == [4, 2, 3]
    assert scorer._batches == [2, 1]
    ranks = score_texts(RankSum({"l": part}, {"l": 1}), RATED.texts)  # ranks among all, not within a batch
    assert ranks == pytest.approx([0.25, np.nan, 1, 0.5, 0.75], nan_ok=True)
    assert part._batches == [2, 2, 1]
    assert score_texts(scorer, []).shape == (0,)


def test_a_filter_of_more_than_captions_is_refused() -> None:
    with pytest.raises(UserError, match="filter oracle reads 'concreteness' beside the caption"):
        check_needs(Oracle())
    check_needs(Bounded({"a": Random()}, 0.5))


def test_parts_that_need_a_corpus_are_fitted(tmp_path: Path) -> None:
    opened: list[Pool] = []

    def open_pool() -> Pool:
        opened.append(Pool("p", str(write_pool(tmp_path / "pool", [rows(3), rows(2, start=3)]))))
        return opened[-1]

    engine = LocalEngine("cpu", 1)
    fit(Bounded({"a": Length()}, 0), open_pool, engine)
    assert not opened  # no corpus statistics, no pool
    scorer = Fitted()
    fit(Bounded({"a": scorer}, 0), open_pool, engine)
    assert scorer._seen == [2, 1, 2] * 2  # twice through both shards, in batches of its size


def test_a_constant_filter_has_no_correlation_but_a_reason(tmp_path: Path) -> None:
    constant = replace(RATED, texts=["abc"] * 5)
    path = write_record(tmp_path, evaluate(Length(), constant, name="length", config={}, seed=0))
    data = json.loads(path.read_text())
    assert data["correlations"]["kendall"]["value"] is None
    assert data["correlations"]["kendall"]["reason"] == "all scores are equal"
    assert list(data) == sorted(data)


def test_the_run_id_changes_with_each_dependency() -> None:
    made: ConcretenessEvaluation = evaluate(Length(), RATED, name="length", config={}, seed=0)
    others = [
        replace(made, key="k"), replace(made, config={"a": 1}), replace(made, sha256="cd"), replace(made, seed=1),
        replace(made, count=4), replace(made, benchmark="words"),
    ]  # fmt: skip
    assert len({made.run_id, *(o.run_id for o in others)}) == 7
    assert replace(made, seconds=9.0, finished="later").run_id == made.run_id
