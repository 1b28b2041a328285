"""Per-epoch draws over clusters: DS-CLIP's three ways, exactly k of them."""

from collections import Counter
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from benchmark.core.bounds import NO_BOUNDS
from benchmark.core.errors import UserError
from benchmark.core.ties import hash_uids
from benchmark.core.uids import decode_uids, encode_uids
from benchmark.core.usage import Seconds
from benchmark.engine.local import LocalEngine
from benchmark.pool.pool import Pool
from benchmark.scoring.score_parts import SCORING
from benchmark.scoring.score_pool import score_pool
from benchmark.scoring.score_table import ScoreTable
from benchmark.selection.bounded import select_within
from benchmark.selection.selection import Selection
from filters.base import Filter
from pairsift.studies.ds_clip.cluster_selector import ClusterSelector, Deck, apportion, epoch_counts, quotas
from tests.pools import rows, write_pool

ENGINE = LocalEngine("cpu", 1)


class KnownLabels(Filter):
    """Clusters that are given, by uid: the harness asks for them as for any other."""

    needs = frozenset({"text"})

    def __init__(self, labels: dict[str, int]) -> None:
        self.labels = labels
        self.features = ()

    def fit(self, batches) -> None:
        """Nothing to find."""

    def score(self, batch):
        return np.array([self.labels[uid] for uid in decode_uids(batch.uids)], np.float32)


@pytest.fixture
def pool(tmp_path: Path) -> Pool:
    return Pool("p", str(write_pool(tmp_path / "pool", [rows(12), rows(8, 12)])))


UIDS = sorted(row.uid for row in rows(20))
SIZES = (12, 6, 2)
LABELS = {uid: int(label) for uid, label in zip(UIDS, np.repeat(range(3), SIZES), strict=True)}


def table(scores=None) -> ScoreTable:
    found = np.arange(20, dtype=np.float32) if scores is None else np.asarray(scores, np.float32)
    return ScoreTable(encode_uids(UIDS), found)


def select(
    pool: Pool, k: int, epochs: int, weight: str = "size", order: str = "random", **given
) -> Selection:
    selector = ClusterSelector(KnownLabels(LABELS), weight, order)
    return selector.select(given.get("table", table()), k, epochs, given.get("seed", 0), pool, ENGINE)


def places(uids) -> list[int]:
    known = encode_uids(UIDS).tolist()
    return [known.index(uid) for uid in uids.tolist()]


def test_epochs_share_clusters_and_continue_without_replacement(pool: Pool) -> None:
    chosen = select(pool, 10, 4)
    clusters = [Counter(LABELS[UIDS[i]] for i in places(uids)) for uids in chosen.epochs]
    assert clusters == [Counter({0: 6, 1: 3, 2: 1})] * 4
    first, second, third, fourth = (set(places(uids)) for uids in chosen.epochs)
    assert first | second == third | fourth == set(range(20))
    assert not first & second
    assert first not in (third, fourth)
    again, other = (select(pool, 10, 4, seed=seed).sha256 for seed in (0, 1))
    assert again == chosen.sha256 != other


def test_a_cluster_too_small_for_every_epoch_has_its_turn(pool: Pool) -> None:
    """Of k = 4 of 20 the smallest cluster's share is 0.4: twice in five epochs, each of its pairs once."""
    chosen = select(pool, 4, 5)
    drawn = Counter(place for uids in chosen.epochs for place in places(uids))
    assert drawn == Counter(range(20))
    assert {len(uids) for uids in chosen.epochs} == {4}


def test_weighted_goes_by_the_square_root_of_the_size(pool: Pool) -> None:
    chosen = select(pool, 8, 25, weight="square_root")
    drawn = Counter(LABELS[UIDS[i]] for uids in chosen.epochs for i in places(uids))
    roots = np.sqrt(SIZES)
    expected = 200 * roots / roots.sum()
    assert [drawn[label] for label in range(3)] == pytest.approx(expected, abs=1)


def test_sorted_takes_each_clusters_best_in_every_epoch(pool: Pool) -> None:
    (epoch,) = select(pool, 10, 4, order="score").epochs
    assert places(epoch) == [6, 7, 8, 9, 10, 11, 15, 16, 17, 19]


def test_in_each_cluster_the_seed_decides_ties(pool: Pool) -> None:
    for seed in range(3):
        chosen = select(pool, 10, 1, order="score", table=table([1.0] * 20), seed=seed)
        hashes = hash_uids(encode_uids(UIDS), seed)
        ranked = [
            sorted(rows, key=lambda row: -int(hashes[row])) for rows in (range(12), range(12, 18), (18, 19))
        ]
        assert places(chosen.uids) == sorted([*ranked[0][:6], *ranked[1][:3], *ranked[2][:1]])
        assert (chosen.tied, chosen.tied_kept) == (20, 10)


@pytest.mark.parametrize("order", ["random", "score"])
def test_what_has_no_score_is_never_drawn(pool: Pool, order: str) -> None:
    scores = np.arange(20, dtype=np.float32)
    scores[::2] = np.nan
    chosen = select(pool, 5, 6, order=order, table=table(scores))
    assert all(place % 2 for uids in chosen.epochs for place in places(uids))
    assert (chosen.scored, chosen.drops) == (10, {"no_score": 10})
    with pytest.raises(UserError, match="10 have a score"):
        select(pool, 11, 1, order=order, table=table(scores))


def test_what_has_no_cluster_is_counted(pool: Pool) -> None:
    uids = [*UIDS, "f" * 32]
    scored = ScoreTable(encode_uids(uids), np.ones(21, np.float32), Counter({"image_missing": 2}))
    chosen = select(pool, 20, 2, table=scored)
    assert chosen.drops == {"image_missing": 2, "no_cluster": 1}
    assert [places(uids) for uids in chosen.epochs] == [list(range(20))] * 2


def test_clusters_are_part_of_what_the_scores_cost(pool: Pool) -> None:
    scored = replace(table(), costs={SCORING: Seconds(5.0), "clip": Seconds(2.0)})
    labels = score_pool(pool, KnownLabels(LABELS), ENGINE).costs[SCORING].clock
    assert select(pool, 5, 3, table=scored).cost.clock == 7 + labels > 7


@pytest.mark.parametrize(("order", "epochs"), [("random", 1), ("random", 3), ("score", 1)])
def test_unreadable_pairs_leave_the_order_of_the_others(pool: Pool, order: str, epochs: int) -> None:
    def without(*broken: int) -> list[list[int]]:
        passed_over = encode_uids([UIDS[place] for place in broken])
        unread = replace(table(), unreadable=passed_over)
        chosen = select_within(
            NO_BOUNDS, unread, lambda left: selector.select(left, 10, epochs, 0, pool, ENGINE)
        )
        assert (chosen.scored, len(chosen.epochs)) == (20 - len(broken), epochs)
        return [places(uids) for uids in chosen.epochs]

    selector = ClusterSelector(KnownLabels(LABELS), "size", order)
    whole = without()
    (lost, *_), *_ = whole
    first, *_ = without(lost)
    (new,) = set(first) - set(whole[0])
    assert set(whole[0]) - set(first) == {lost}
    assert LABELS[UIDS[new]] == LABELS[UIDS[lost]], "the next of its cluster takes its place"
    twice = [place for epoch in without(lost, new) for place in epoch]
    assert not {lost, new} & set(twice)


def test_quotas_by_hand() -> None:
    sizes = np.array([100, 10, 1])
    assert quotas(sizes.astype(float), sizes, 111) == pytest.approx([100, 10, 1])
    # Roots 10, 3.16, 1 of 60: 42.4, 13.4, 4.2. The small ones are full at 10 and 1, the rest goes to the first.
    assert quotas(np.sqrt(sizes), sizes, 60) == pytest.approx([49, 10, 1])


@pytest.mark.parametrize("seed", range(5))
def test_apportioned_numbers_sum_to_k_and_are_near_their_parts(seed: int) -> None:
    rng = np.random.default_rng(seed)
    sizes = rng.integers(1, 40, 30)
    k = int(rng.integers(1, sizes.sum()))
    parts = quotas(np.sqrt(sizes), sizes, k)
    counts = apportion(parts, k, sizes)
    assert counts.sum() == k
    assert (counts >= 0).all()
    assert (counts <= sizes).all()
    assert (np.abs(counts - parts) < 1).all()


@pytest.mark.parametrize("k", [1, 7, 50, 99, 100])
def test_no_pair_twice_in_an_epoch_and_all_as_often_over_many(k: int) -> None:
    rng = np.random.default_rng(k)
    sizes = np.array([1, 2, 3, 14, 30, 50])
    counts = epoch_counts(quotas(sizes.astype(float), sizes, k), sizes, k, 50)
    assert (counts.sum(1) == k).all()
    times = []
    for size, of_cluster in zip(sizes, counts.T, strict=True):
        deck = Deck(np.ones(int(size), bool), rng)
        drawn = [deck.draw(int(count)) for count in of_cluster]
        assert all(len(set(rows.tolist())) == len(rows) for rows in drawn)
        times += np.bincount(np.concatenate(drawn), minlength=size).tolist()
    assert max(times) - min(times) <= 2


@pytest.mark.parametrize(
    ("weight", "order", "message"),
    [
        ("sizes", "random", "weight=sizes must be size or square_root"),
        ("size", "scor", "order=scor must be random or score"),
    ],
)
def test_only_known_weights_and_orders(weight: str, order: str, message: str) -> None:
    with pytest.raises(UserError, match=message):
        ClusterSelector(KnownLabels(LABELS), weight, order)  # type: ignore[arg-type]
