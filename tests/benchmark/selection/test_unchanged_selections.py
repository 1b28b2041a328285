"""Composites and selectors over clusters select what they did when they held the scores of the whole pool."""

import hashlib
from dataclasses import replace

import numpy as np
import pytest

from benchmark.core.batch import Batch
from benchmark.engine.local import LocalEngine
from benchmark.pool.pool import Pool
from benchmark.scoring.score_pool import score_pool
from benchmark.scoring.score_table import ScoreTable
from benchmark.selection.clusters import ClusterSelector
from benchmark.selection.selection import Selection
from benchmark.selection.top_k import select_top_k
from filters.base import Composite, Filter, Scores
from filters.composite import Cascade, Intersect, RankSum, Threshold, Union
from filters.random import Random
from filters.text_removal import RelativeScore
from tests.pools import rows, write_metadata, write_tar

ENGINE = LocalEngine("cpu", 1)
PAIRS = 150


class Values(Filter):
    """Drawn by the number in the caption: as distinct or as tied as `levels` says, a tenth of them missing."""

    def __init__(self, reads: str, levels: int, exact: bool = False) -> None:
        self.needs = frozenset({"text", reads})
        self.levels = levels
        self.exact = exact

    def score(self, batch: Batch) -> Scores:
        drawn = np.random.default_rng(self.levels).integers(-self.levels, self.levels, PAIRS).astype(float)
        drawn[::10] = np.nan
        scores = drawn[[int(text.split()[-1]) for text in batch.texts]] / 3
        return scores if self.exact else scores.astype(np.float32)


class Far(Values):
    """How far a pair's value is from the mean of the pairs that it is fitted on."""

    def fit(self, batches) -> None:
        self._mean = np.nanmean([np.nanmean([0.0, *super(Far, self).score(batch)]) for batch in batches])

    def score(self, batch: Batch) -> Scores:
        return np.abs(super().score(batch) - np.float32(self._mean)).astype(np.float32)


class Kinds(Filter):
    """Six clusters of images, by the number in the caption."""

    needs = frozenset({"text", "image"})

    def score(self, batch: Batch) -> Scores:
        return np.array([int(text.split()[-1]) ** 2 % 11 for text in batch.texts], np.float32)


@pytest.fixture(scope="module")
def pool(tmp_path_factory: pytest.TempPathFactory) -> Pool:
    """Five shards with pairs that are in several, or twice in one; some images are broken, some tars lack pairs."""
    folder = tmp_path_factory.mktemp("pool")
    samples = rows(PAIRS)
    for number in range(0, PAIRS, 13):
        samples[number] = replace(samples[number], image=b"broken")
    for shard in range(5):
        own = samples[shard * 30 : shard * 30 + 30]
        twice = [own[4], samples[(shard * 47 + 30) % PAIRS]]
        write_metadata(folder / "metadata" / f"{shard}.parquet", [*own, *twice])
        write_tar(folder / "shards" / f"{shard}.tar", [twice[1], *own[shard:][::-1]])
    return Pool("p", str(folder))


COMPOSITES: dict[str, Composite] = {
    "threshold": Threshold(Values("text", 40), 2.5),
    "cascade of numbers": Cascade({"a": Values("text", 9), "b": Values("text", 90)}, {"a": 1}),
    "cascade of shares": Cascade(
        {"a": Values("text", 3), "b": Values("image", 90), "c": Random(1)}, {"a": "40%", "b": "70%"}, 5
    ),
    "cascade of fits": Cascade(
        {"a": Values("text", 4), "b": Far("text", 50), "c": Union({"a": Far("image", 8), "b": Random(2)})},
        {"a": "60%", "b": 0.5},
        1,
    ),
    "rank_sum": RankSum({"a": Values("text", 5), "b": Values("image", 200)}, {"a": 0.7, "b": 0.3}),
    "rank_sum of three": RankSum(
        {"a": Values("text", 5, True), "b": Random(2), "c": Values("text", 70)}, {"a": 0.1, "b": 0.2, "c": -1}
    ),
    "intersect": Intersect({"a": Values("text", 30), "b": Values("text", 6), "c": Values("image", 30)}),
    "union": Union({"a": Values("image", 30), "b": Values("text", 6)}),
    "relative": RelativeScore({"a": Values("image", 30), "b": Values("text", 60)}),
    "nested": RankSum(
        {"a": Union({"a": Values("text", 7), "b": Random(1)}), "b": Threshold(Values("image", 20), 0)},
        {"a": 1, "b": 2},
    ),
}
# Digests of the scores of the whole pool, and of a selection from them.
FROZEN = {
    "threshold": "725cfad3280d",
    "cascade of numbers": "29a00000aea4",
    "cascade of shares": "6ad9c8af2829",
    "cascade of fits": "d871ad0c704e",
    "rank_sum": "d8ef3f0d4c51",
    "rank_sum of three": "a316c5e10f5b",
    "intersect": "4337ef22cec9",
    "union": "388016041b9e",
    "relative": "01a27fd59b40",
    "nested": "fb80ac96dbdb",
}
CLUSTERS = {
    (weight, order): ClusterSelector(Kinds(), weight, order)
    for weight in ("size", "square_root")
    for order in ("random", "score")
}
FROZEN_CLUSTERS = {
    ("size", "random"): "c84a2357b77b",
    ("size", "score"): "fca6d516aae3",
    ("square_root", "random"): "5fc5a4558d46",
    ("square_root", "score"): "675685ab3535",
}


def facts_of(table: ScoreTable) -> list[object]:
    missing = np.isnan(table.scores)
    scores = np.where(missing, 0, table.scores)
    return [table.uids.tolist(), missing.tolist(), scores.tolist(), sorted(table.drops.items())]


def facts_of_selection(chosen: Selection) -> list[object]:
    counts = [chosen.threshold, chosen.scored, chosen.tied, chosen.tied_kept, sorted(chosen.drops.items())]
    return [[epoch.tolist() for epoch in chosen.epochs], *counts]


def digest(*facts: list[object]) -> str:
    return hashlib.sha256(repr(facts).encode()).hexdigest()[:12]


@pytest.mark.parametrize("name", COMPOSITES)
def test_a_composite_selects_the_same_uids(pool: Pool, name: str) -> None:
    table = score_pool(pool, COMPOSITES[name], ENGINE)
    selection = select_top_k(table, 25, seed=3)
    assert digest(facts_of(table), facts_of_selection(selection)) == FROZEN[name]


@pytest.mark.parametrize(("weight", "order"), CLUSTERS)
def test_draws_over_clusters_are_the_same(pool: Pool, weight: str, order: str) -> None:
    table = score_pool(pool, Values("text", 12), ENGINE)
    selection = CLUSTERS[weight, order].select(table, 40, 5, 3, pool, ENGINE)
    assert digest(facts_of_selection(selection)) == FROZEN_CLUSTERS[weight, order]
